INSERT INTO chat_permissions (chat_id, instance_id, tool, created_at) VALUES
    ('00000000-0000-7000-8000-000000000102', '00000000-0000-7000-8000-000000000041', 'rain', 1);
INSERT INTO rate_buckets (server_id, tokens, filled_at) VALUES ('00000000-0000-7000-8000-000000000021', 2.5, 1.25);
