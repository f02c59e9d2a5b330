-- The hub as an authorization server: the clients that may ask, whom people let in, and what they were given.
-- Codes, tokens and client secrets are kept as digests.
CREATE TABLE clients (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    redirect_uris TEXT NOT NULL,
    auth_method TEXT NOT NULL,
    secret_hash TEXT,
    refreshes BOOLEAN NOT NULL,
    fresh_until BIGINT,
    last_used_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE TABLE connections (
    id TEXT PRIMARY KEY,
    person_id TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    client_id TEXT NOT NULL REFERENCES clients (id) ON DELETE CASCADE,
    redirect_uri TEXT NOT NULL,
    resource TEXT NOT NULL,
    scope TEXT NOT NULL,
    all_instances BOOLEAN NOT NULL,
    expires_at BIGINT NOT NULL,
    last_used_at BIGINT,
    created_at BIGINT NOT NULL
);
CREATE INDEX connections_person ON connections (person_id);
CREATE INDEX connections_client ON connections (client_id);

CREATE TABLE connection_grants (
    connection_id TEXT NOT NULL REFERENCES connections (id) ON DELETE CASCADE,
    instance_id TEXT NOT NULL REFERENCES mcp_instances (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (connection_id, instance_id)
);
CREATE INDEX connection_grants_instance ON connection_grants (instance_id);

CREATE TABLE connection_codes (
    hash TEXT PRIMARY KEY,
    connection_id TEXT NOT NULL REFERENCES connections (id) ON DELETE CASCADE,
    challenge TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT,
    created_at BIGINT NOT NULL
);
CREATE INDEX connection_codes_connection ON connection_codes (connection_id);

CREATE TABLE connection_tokens (
    hash TEXT PRIMARY KEY,
    connection_id TEXT NOT NULL REFERENCES connections (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT,
    created_at BIGINT NOT NULL
);
CREATE INDEX connection_tokens_connection ON connection_tokens (connection_id);
