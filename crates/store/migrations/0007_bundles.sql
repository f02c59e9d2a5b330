-- What people installed, and what their tools were when they were approved.
CREATE TABLE bundles (
    person_id TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    version TEXT NOT NULL,
    scope TEXT NOT NULL,
    target TEXT,
    source TEXT NOT NULL,
    manifest TEXT NOT NULL,
    sha256 TEXT,
    settings_enc TEXT,
    installed_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (person_id, id)
);

CREATE TABLE tool_pins (
    instance_id TEXT NOT NULL REFERENCES mcp_instances (id) ON DELETE CASCADE,
    tool TEXT NOT NULL,
    digest TEXT NOT NULL,
    raw TEXT NOT NULL,
    state TEXT NOT NULL,
    rejected TEXT,
    decided_by TEXT,
    decided_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (instance_id, tool)
);
