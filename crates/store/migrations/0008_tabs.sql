-- Browsers that people have paired, the tabs that were open in them, the tools that outlive their tabs, and what
-- happened. A pairing that was ended stays, without its token, so that it does not come back by itself.
CREATE TABLE pairings (
    profile_id TEXT PRIMARY KEY,
    person_id TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    token_enc TEXT,
    label TEXT NOT NULL,
    revoked_at BIGINT,
    last_seen BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX pairings_person ON pairings (person_id);

CREATE TABLE tabs (
    id TEXT PRIMARY KEY,
    profile_id TEXT NOT NULL,
    tab_id BIGINT NOT NULL,
    person_id TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    domain TEXT NOT NULL,
    origin TEXT NOT NULL,
    slot BIGINT NOT NULL,
    url TEXT,
    title TEXT,
    active BOOLEAN NOT NULL,
    last_updated BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX tabs_person ON tabs (person_id);

CREATE TABLE tab_tools (
    person_id TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    origin TEXT NOT NULL,
    name TEXT NOT NULL,
    domain TEXT NOT NULL,
    public_name TEXT NOT NULL,
    raw TEXT NOT NULL,
    url TEXT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (person_id, origin, name)
);

CREATE TABLE tab_log (
    id TEXT PRIMARY KEY,
    person_id TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    profile_id TEXT NOT NULL,
    tab_id BIGINT NOT NULL,
    domain TEXT NOT NULL,
    origin TEXT NOT NULL,
    event TEXT NOT NULL,
    tool TEXT,
    outcome TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX tab_log_person ON tab_log (person_id, created_at);
