INSERT INTO seal_keys (id, key_enc, created_at) VALUES ('k1', 'v1.x.y', 1);
