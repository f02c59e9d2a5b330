INSERT INTO clients (id, kind, name, redirect_uris, auth_method, secret_hash, refreshes, fresh_until, last_used_at,
    created_at, updated_at) VALUES
    ('c1', 'registered', 'An editor', '["http://127.0.0.1/cb"]', 'client_secret_basic', 'h0', true, NULL, 5, 1, 2),
    ('https://example.com/c.json', 'document', 'A site', '["https://example.com/cb"]', 'none', NULL, false, 9, NULL,
     1, 2);
INSERT INTO connections (id, person_id, client_id, redirect_uri, resource, scope, all_instances, expires_at,
    created_at) VALUES
    ('00000000-0000-7000-8000-000000000071', '00000000-0000-7000-8000-000000000001', 'c1', 'http://127.0.0.1:9/cb',
     '/mcp', 'mcp', false, 4102444800000, 1);
INSERT INTO connection_grants (connection_id, instance_id, created_at) VALUES
    ('00000000-0000-7000-8000-000000000071', '00000000-0000-7000-8000-000000000041', 1);
INSERT INTO connection_codes (hash, connection_id, challenge, expires_at, used_at, created_at) VALUES
    ('h1', '00000000-0000-7000-8000-000000000071', 'x', 4, 3, 1);
INSERT INTO connection_tokens (hash, connection_id, kind, expires_at, used_at, created_at) VALUES
    ('h2', '00000000-0000-7000-8000-000000000071', 'access', 4102444800000, NULL, 1),
    ('h3', '00000000-0000-7000-8000-000000000071', 'refresh', 4102444800000, 3, 1);
