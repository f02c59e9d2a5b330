-- The registry, what people make of it, and what happened. One text for SQLite and PostgreSQL:
-- ids are hyphenated UUIDs, times are Unix milliseconds, JSON is kept as text.

CREATE TABLE people (
    id TEXT PRIMARY KEY,
    email TEXT,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    password_hash TEXT,
    oidc_subject TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX people_email ON people (lower(email));
CREATE UNIQUE INDEX people_oidc_subject ON people (oidc_subject);

CREATE TABLE workspaces (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    phase TEXT NOT NULL,
    allowlist TEXT,
    allowed_transports TEXT,
    pins TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE TABLE members (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    person_id TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    role TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, person_id)
);
CREATE INDEX members_person ON members (person_id);

-- `bud_id` has no foreign key: the registry knows buds before their table exists.
CREATE TABLE mcp_servers (
    id TEXT PRIMARY KEY,
    workspace_id TEXT REFERENCES workspaces (id) ON DELETE CASCADE,
    bud_id TEXT,
    endpoint TEXT NOT NULL,
    metadata TEXT NOT NULL,
    rate_limit TEXT,
    name TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    owner_id TEXT REFERENCES people (id) ON DELETE CASCADE,
    origin TEXT NOT NULL,
    transport TEXT NOT NULL,
    config TEXT NOT NULL,
    enabled BOOLEAN NOT NULL DEFAULT true,
    protocol TEXT,
    era TEXT NOT NULL DEFAULT 'auto',
    era_verdict TEXT,
    registration TEXT,
    duplicate_of TEXT REFERENCES mcp_servers (id) ON DELETE SET NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX mcp_servers_name
    ON mcp_servers (coalesce(workspace_id, ''), coalesce(owner_id, ''), name);
CREATE INDEX mcp_servers_duplicate_of ON mcp_servers (duplicate_of);

CREATE TABLE auth_configs (
    id TEXT PRIMARY KEY,
    server_id TEXT NOT NULL REFERENCES mcp_servers (id) ON DELETE CASCADE,
    type TEXT NOT NULL,
    name TEXT NOT NULL,
    entries TEXT NOT NULL,
    scopes TEXT,
    endpoints TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX auth_configs_server ON auth_configs (server_id);

CREATE TABLE mcp_instances (
    id TEXT PRIMARY KEY,
    person_id TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    server_id TEXT NOT NULL REFERENCES mcp_servers (id) ON DELETE CASCADE,
    slug TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    enabled BOOLEAN NOT NULL DEFAULT true,
    auth_type TEXT NOT NULL DEFAULT 'public',
    auth_config_id TEXT REFERENCES auth_configs (id) ON DELETE SET NULL,
    status TEXT NOT NULL DEFAULT 'not_ready',
    capabilities TEXT,
    last_error TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX mcp_instances_slug ON mcp_instances (person_id, lower(slug));
CREATE INDEX mcp_instances_server ON mcp_instances (server_id);
CREATE INDEX mcp_instances_auth_config ON mcp_instances (auth_config_id);

-- A tool that is no longer listed stays as `gone`, so its name is never given to another.
CREATE TABLE mcp_tools (
    instance_id TEXT NOT NULL REFERENCES mcp_instances (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    public_name TEXT NOT NULL,
    single_name TEXT NOT NULL,
    position BIGINT NOT NULL,
    raw TEXT NOT NULL,
    fetched_at BIGINT NOT NULL,
    gone BOOLEAN NOT NULL DEFAULT false,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (instance_id, name)
);

CREATE TABLE mcp_lists (
    instance_id TEXT NOT NULL REFERENCES mcp_instances (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    items TEXT NOT NULL,
    fetched_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (instance_id, kind)
);

CREATE TABLE tool_settings (
    instance_id TEXT NOT NULL REFERENCES mcp_instances (id) ON DELETE CASCADE,
    tool TEXT NOT NULL,
    enabled BOOLEAN NOT NULL DEFAULT true,
    permission TEXT NOT NULL DEFAULT 'allow',
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (instance_id, tool)
);

CREATE TABLE credentials (
    instance_id TEXT NOT NULL REFERENCES mcp_instances (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    value_enc TEXT NOT NULL,
    position BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (instance_id, key)
);

-- The two logs have no foreign keys: they outlive what they speak of.
CREATE TABLE calls (
    id TEXT PRIMARY KEY,
    parent_id TEXT,
    person_id TEXT NOT NULL,
    token_id TEXT,
    chat_id TEXT,
    door TEXT NOT NULL,
    method TEXT NOT NULL,
    instance_id TEXT,
    tool TEXT NOT NULL,
    depth BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    ms DOUBLE PRECISION NOT NULL,
    outcome TEXT NOT NULL,
    error_code TEXT,
    bytes BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX calls_person ON calls (person_id, id);
CREATE INDEX calls_instance ON calls (instance_id, id);

CREATE TABLE admin_log (
    id TEXT PRIMARY KEY,
    at BIGINT NOT NULL,
    person_id TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    detail TEXT,
    created_at BIGINT NOT NULL
);
