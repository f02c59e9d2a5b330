-- Keys that seal what clients carry for us between two requests; shared by all replicas.
CREATE TABLE seal_keys (
    id TEXT PRIMARY KEY,
    key_enc TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
