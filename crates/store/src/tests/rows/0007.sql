INSERT INTO bundles (person_id, id, version, scope, target, source, manifest, sha256, settings_enc, installed_at,
    created_at, updated_at) VALUES
    ('00000000-0000-7000-8000-000000000001', 'tools', '1.0.0', 'user', '{"file":"/x/mcp.json"}', 'github:a/b', '{}',
     'aa', NULL, 3, 1, 2);
INSERT INTO tool_pins (instance_id, tool, digest, raw, state, rejected, decided_by, decided_at, created_at,
    updated_at) VALUES
    ('00000000-0000-7000-8000-000000000041', 'say', 'd1', '{"name":"say"}', 'approved', 'd2', NULL, 4, 1, 2);
