INSERT INTO oauth_clients (id, issuer, registration, client_id, client_secret_enc, created_at, updated_at) VALUES
    ('00000000-0000-7000-8000-000000000071', 'https://auth.example.com', 'dynamic', 'c1', 'v1.00000000.AAAA', 1, 2);
INSERT INTO oauth_pending (state, instance_id, person_id, verifier_enc, redirect_uri, issuer, names_itself,
    token_endpoint, client_id, resource, scope, url, created_at) VALUES
    ('s1', '00000000-0000-7000-8000-000000000041', '00000000-0000-7000-8000-000000000001', 'v1.00000000.AAAA',
     'http://127.0.0.1:7430/ui/auth/mcp/callback', 'https://auth.example.com', true, 'https://auth.example.com/token',
     'c1', 'https://example.com/mcp', 'read', 'https://auth.example.com/authorize?state=s1', 3);
INSERT INTO oauth_tokens (instance_id, issuer, client_id, token_endpoint, resource, access_enc, refresh_enc, expires_at,
    scope, created_at, updated_at) VALUES
    ('00000000-0000-7000-8000-000000000041', 'https://auth.example.com', 'c1', 'https://auth.example.com/token',
     'https://example.com/mcp', 'v1.00000000.AAAA', 'v1.00000000.BBBB', 9, 'read', 1, 2);
INSERT INTO oauth_demands (instance_id, resource_metadata, scope, rounds, created_at, updated_at) VALUES
    ('00000000-0000-7000-8000-000000000041', 'https://example.com/prm', 'read write', 1, 1, 2);
