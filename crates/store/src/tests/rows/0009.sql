INSERT INTO buds (id, workspace_id, owner_id, name, avatar, system_prompt, model, temperature, max_tokens, methods,
    mcp_config, created_at, updated_at) VALUES
    ('00000000-0000-7000-8000-000000000101', '00000000-0000-7000-8000-000000000011',
     '00000000-0000-7000-8000-000000000001', 'Compare', NULL, 'You compare clauses', 'local/m', 0.2, 100,
     '[{"name":"compareClauses","inputSchema":{"type":"object"}}]', '{"servers":["fs"]}', 1, 2);
INSERT INTO chats (id, workspace_id, person_id, bud_id, title, created_at, updated_at) VALUES
    ('00000000-0000-7000-8000-000000000102', '00000000-0000-7000-8000-000000000011',
     '00000000-0000-7000-8000-000000000001', '00000000-0000-7000-8000-000000000101', 'Contracts', 1, 2);
INSERT INTO messages (id, chat_id, role, content, call_id, created_at) VALUES
    ('00000000-0000-7000-8000-000000000103', '00000000-0000-7000-8000-000000000102', 'tool', '{"text":"x"}', NULL, 1);
INSERT INTO plans (id, workspace_id, owner_id, name, graph, created_at, updated_at) VALUES
    ('00000000-0000-7000-8000-000000000104', '00000000-0000-7000-8000-000000000011',
     '00000000-0000-7000-8000-000000000001', 'Morning', '{"nodes":[],"edges":[]}', 1, 2);
INSERT INTO results (id, call_id, person_id, body, created_at) VALUES
    ('00000000-0000-7000-8000-000000000105', '00000000-0000-7000-8000-000000000106',
     '00000000-0000-7000-8000-000000000001', 'long', 1);
INSERT INTO files (id, workspace_id, person_id, name, mime_type, text, created_at) VALUES
    ('00000000-0000-7000-8000-000000000107', '00000000-0000-7000-8000-000000000011',
     '00000000-0000-7000-8000-000000000001', 'notes.md', 'text/markdown', 'oak and elm', 1);
