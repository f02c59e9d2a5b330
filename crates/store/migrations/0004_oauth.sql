-- Sign-in to servers of other people. A client is known to one issuer; several may be known to the same one, the
-- newest is used for new sign-ins.
CREATE TABLE oauth_clients (
    id TEXT PRIMARY KEY,
    issuer TEXT NOT NULL,
    registration TEXT NOT NULL,
    client_id TEXT NOT NULL,
    client_secret_enc TEXT,
    auth_method TEXT,
    redirect_uri TEXT,
    expires_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX oauth_clients_issuer ON oauth_clients (issuer, client_id);

-- Sign-ins that were begun. They survive a restart and serve any replica.
CREATE TABLE oauth_pending (
    state TEXT PRIMARY KEY,
    instance_id TEXT NOT NULL REFERENCES mcp_instances (id) ON DELETE CASCADE,
    person_id TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    verifier_enc TEXT NOT NULL,
    redirect_uri TEXT NOT NULL,
    issuer TEXT NOT NULL,
    names_itself BOOLEAN NOT NULL,
    token_endpoint TEXT NOT NULL,
    client_id TEXT NOT NULL,
    resource TEXT NOT NULL,
    scope TEXT,
    url TEXT NOT NULL,
    used_at BIGINT,
    created_at BIGINT NOT NULL
);
CREATE INDEX oauth_pending_instance ON oauth_pending (instance_id);
CREATE INDEX oauth_pending_created ON oauth_pending (created_at);

-- A refresh token that was sent, and whose answer is not known, stands in `taken_enc`: it is never sent again unless
-- the provider is known not to have used it.
CREATE TABLE oauth_tokens (
    instance_id TEXT PRIMARY KEY REFERENCES mcp_instances (id) ON DELETE CASCADE,
    issuer TEXT NOT NULL,
    client_id TEXT NOT NULL,
    token_endpoint TEXT NOT NULL,
    resource TEXT NOT NULL,
    access_enc TEXT NOT NULL,
    refresh_enc TEXT,
    taken_enc TEXT,
    taken_at BIGINT,
    expires_at BIGINT,
    scope TEXT,
    problem TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

-- What a server has asked for so far, for the next sign-in.
CREATE TABLE oauth_demands (
    instance_id TEXT PRIMARY KEY REFERENCES mcp_instances (id) ON DELETE CASCADE,
    resource_metadata TEXT,
    scope TEXT,
    rounds BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
