INSERT INTO pairings (profile_id, person_id, token_enc, label, revoked_at, last_seen, created_at) VALUES
    ('profile-1', '00000000-0000-7000-8000-000000000001', NULL, 'Chromium/156', 3, 2, 1);
INSERT INTO tabs (id, profile_id, tab_id, person_id, domain, origin, slot, url, title, active, last_updated, created_at)
VALUES ('profile-1/7', 'profile-1', 7, '00000000-0000-7000-8000-000000000001', 'example.com', 'https://example.com', 2,
     'https://example.com/shop', 'Shop', true, 5, 1);
INSERT INTO tab_tools (person_id, origin, name, domain, public_name, raw, url, created_at) VALUES
    ('00000000-0000-7000-8000-000000000001', 'https://example.com', 'getCart', 'example.com',
     'website_tool_example_com_getCart', '{"name":"getCart"}', NULL, 1);
INSERT INTO tab_log (id, person_id, profile_id, tab_id, domain, origin, event, tool, outcome, created_at) VALUES
    ('00000000-0000-7000-8000-000000000091', '00000000-0000-7000-8000-000000000001', 'profile-1', 7, 'example.com',
     'https://example.com', 'called', 'getCart', 'ok', 1);
