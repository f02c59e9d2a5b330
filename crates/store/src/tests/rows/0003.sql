INSERT INTO tokens (id, person_id, name, hash, names_profile, limited, last_used_at, created_at) VALUES
    ('00000000-0000-7000-8000-000000000301', '00000000-0000-7000-8000-000000000001', 'laptop', 'h1', 'double', true, 3, 1);
INSERT INTO token_grants (token_id, instance_id, created_at) VALUES
    ('00000000-0000-7000-8000-000000000301', '00000000-0000-7000-8000-000000000041', 1);
INSERT INTO browser_sessions (id, person_id, hash, agent, last_seen_at, expires_at, created_at) VALUES
    ('00000000-0000-7000-8000-000000000302', '00000000-0000-7000-8000-000000000001', 'h2', 'a browser', 2, 9, 1);
INSERT INTO sign_in_links (hash, purpose, person_id, expires_at, created_at) VALUES
    ('h3', 'set-up', NULL, 9, 1), ('h4', 'invite', '00000000-0000-7000-8000-000000000002', 9, 1);
INSERT INTO oidc_pending (state_hash, browser_hash, nonce, next, created_at) VALUES ('h5', 'h6', 'n', '/ui/', 1);
