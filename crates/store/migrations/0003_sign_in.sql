-- Who may come in: tokens, browser sessions, links that work once, sign-ins that are under way. Whatever a person
-- shows to be let in is kept as its SHA-256 only.

CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    person_id TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    hash TEXT NOT NULL,
    names_profile TEXT NOT NULL,
    limited BOOLEAN NOT NULL DEFAULT false,
    last_used_at BIGINT,
    revoked_at BIGINT,
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX tokens_hash ON tokens (hash);
CREATE INDEX tokens_person ON tokens (person_id);

-- Of a token that is not `limited`, none are kept: it may use all that its person has.
CREATE TABLE token_grants (
    token_id TEXT NOT NULL REFERENCES tokens (id) ON DELETE CASCADE,
    instance_id TEXT NOT NULL REFERENCES mcp_instances (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (token_id, instance_id)
);
CREATE INDEX token_grants_instance ON token_grants (instance_id);

CREATE TABLE browser_sessions (
    id TEXT PRIMARY KEY,
    person_id TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    hash TEXT NOT NULL,
    agent TEXT NOT NULL,
    last_seen_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX browser_sessions_hash ON browser_sessions (hash);
CREATE INDEX browser_sessions_person ON browser_sessions (person_id);

-- `purpose` is `set-up` (makes the first admin), `invite` (sets a password) or `sign-in` (opens a session).
CREATE TABLE sign_in_links (
    hash TEXT PRIMARY KEY,
    purpose TEXT NOT NULL,
    person_id TEXT REFERENCES people (id) ON DELETE CASCADE,
    expires_at BIGINT NOT NULL,
    used_at BIGINT,
    created_at BIGINT NOT NULL
);
CREATE INDEX sign_in_links_person ON sign_in_links (person_id);

-- A sign-in through an OpenID provider between its start and its return. The browser that started it holds the
-- code verifier in a cookie.
CREATE TABLE oidc_pending (
    state_hash TEXT PRIMARY KEY,
    browser_hash TEXT NOT NULL,
    nonce TEXT NOT NULL,
    next TEXT NOT NULL,
    used_at BIGINT,
    created_at BIGINT NOT NULL
);
