INSERT INTO people (id, email, name, role, created_at, updated_at) VALUES
    ('00000000-0000-7000-8000-000000000001', 'a@example.com', 'A', 'admin', 1, 2),
    ('00000000-0000-7000-8000-000000000002', NULL, 'B', 'member', 1, 2);
INSERT INTO workspaces (id, name, phase, allowlist, created_at, updated_at) VALUES
    ('00000000-0000-7000-8000-000000000011', 'home', 'gamma', '["example.com"]', 1, 2);
INSERT INTO members (workspace_id, person_id, role, created_at, updated_at) VALUES
    ('00000000-0000-7000-8000-000000000011', '00000000-0000-7000-8000-000000000001', 'admin', 1, 2);
INSERT INTO mcp_servers (id, workspace_id, endpoint, metadata, name, origin, transport, config, enabled,
    created_at, updated_at) VALUES
    ('00000000-0000-7000-8000-000000000021', '00000000-0000-7000-8000-000000000011', 'https://example.com/mcp',
     '{}', 'weather', 'paste', 'streamable_http', '{"url":"https://example.com/mcp","x":1}', false, 1, 2);
INSERT INTO auth_configs (id, server_id, type, name, entries, created_at, updated_at) VALUES
    ('00000000-0000-7000-8000-000000000031', '00000000-0000-7000-8000-000000000021', 'header', 'key',
     '[{"in":"header","key":"X-Key"}]', 1, 2);
INSERT INTO mcp_instances (id, person_id, server_id, slug, name, auth_type, auth_config_id, created_at, updated_at)
VALUES
    ('00000000-0000-7000-8000-000000000041', '00000000-0000-7000-8000-000000000001',
     '00000000-0000-7000-8000-000000000021', 'weather', 'Weather', 'header',
     '00000000-0000-7000-8000-000000000031', 1, 2);
INSERT INTO mcp_tools (instance_id, name, public_name, single_name, position, raw, fetched_at, gone, created_at)
VALUES
    ('00000000-0000-7000-8000-000000000041', 'rain', 'mcp__weather__rain', 'mcp_weather__rain', 0,
     '{"name":"rain"}', 3, false, 1),
    ('00000000-0000-7000-8000-000000000041', 'sun', 'mcp__weather__sun', 'mcp_weather__sun', 1,
     '{"name":"sun"}', 3, true, 1);
INSERT INTO mcp_lists (instance_id, kind, items, fetched_at, created_at) VALUES
    ('00000000-0000-7000-8000-000000000041', 'prompts', '[]', 3, 1);
INSERT INTO tool_settings (instance_id, tool, enabled, permission, created_at, updated_at) VALUES
    ('00000000-0000-7000-8000-000000000041', 'rain', false, 'ask', 1, 2);
INSERT INTO credentials (instance_id, key, value_enc, position, created_at, updated_at) VALUES
    ('00000000-0000-7000-8000-000000000041', 'X-Key', 'v1.00000000.AAAA', 0, 1, 2);
INSERT INTO calls (id, person_id, door, method, instance_id, tool, depth, started_at, ms, outcome, bytes, created_at)
VALUES
    ('00000000-0000-7000-8000-000000000051', '00000000-0000-7000-8000-000000000001', 'mcp', 'tools/call',
     '00000000-0000-7000-8000-000000000041', 'mcp__weather__rain', 0, 5, 1.25, 'done', 10, 6);
INSERT INTO admin_log (id, at, person_id, action, subject, detail, created_at) VALUES
    ('00000000-0000-7000-8000-000000000061', 7, '00000000-0000-7000-8000-000000000001', 'server.add', 'weather',
     NULL, 7);
