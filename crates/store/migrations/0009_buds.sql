-- Buds and what belongs to them: chats with their messages, plans, results that were too long to be shown whole, and
-- files to search in. A bud's row in the registry has the bud's own id and is written by triggers alone.
--
-- What stands between `-- only sqlite` or `-- only postgres` and `-- both` is for that database: the two have no
-- common words for triggers and for searching in text.

CREATE TABLE buds (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    owner_id TEXT REFERENCES people (id) ON DELETE SET NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    avatar TEXT,
    system_prompt TEXT NOT NULL DEFAULT '',
    model TEXT,
    temperature DOUBLE PRECISION,
    max_tokens BIGINT,
    methods TEXT NOT NULL DEFAULT '[]',
    mcp_config TEXT NOT NULL DEFAULT '{}',
    origin TEXT NOT NULL DEFAULT 'person',
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX buds_name ON buds (workspace_id, name);

CREATE TABLE chats (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    person_id TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    bud_id TEXT REFERENCES buds (id) ON DELETE SET NULL,
    title TEXT NOT NULL DEFAULT '',
    model TEXT,
    mcp_config_overrides TEXT NOT NULL DEFAULT '{}',
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX chats_person ON chats (person_id, updated_at);

-- `role` is `system`, `user`, `assistant` or `tool`. Ids rise with time, so they are the order.
CREATE TABLE messages (
    id TEXT PRIMARY KEY,
    chat_id TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    role TEXT NOT NULL,
    content TEXT NOT NULL,
    call_id TEXT,
    created_at BIGINT NOT NULL
);
CREATE INDEX messages_chat ON messages (chat_id, id);

CREATE TABLE plans (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    owner_id TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    graph TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX plans_owner ON plans (owner_id);

CREATE TABLE results (
    id TEXT PRIMARY KEY,
    call_id TEXT NOT NULL,
    person_id TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    body TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX results_person ON results (person_id, created_at);

CREATE TABLE files (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    person_id TEXT REFERENCES people (id) ON DELETE SET NULL,
    name TEXT NOT NULL,
    mime_type TEXT NOT NULL,
    text TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX files_workspace ON files (workspace_id);

-- only sqlite
CREATE TRIGGER buds_insert AFTER INSERT ON buds BEGIN
    INSERT INTO mcp_servers (id, workspace_id, bud_id, endpoint, metadata, name, description, origin, transport, config,
        created_at, updated_at)
    VALUES (NEW.id, NEW.workspace_id, NEW.id, 'bud://' || NEW.id,
        json_object('name', NEW.name, 'description', NEW.description, 'methods', json((
            SELECT CASE count(*) WHEN 0
                THEN '[{"name":"ask","description":"Asks the bud","inputSchema":{"type":"object","properties":{"message":{"type":"string","description":"What to say to it"}},"required":["message"]}}]'
                ELSE json_group_array(json_object('name', json_extract(value, '$.name'),
                    'description', coalesce(json_extract(value, '$.description'), ''),
                    'inputSchema', json(json_extract(value, '$.inputSchema')))) END
            FROM json_each(NEW.methods)))),
        NEW.name, NEW.description, 'bud', 'bud', '{}', NEW.created_at, NEW.updated_at);
END;
CREATE TRIGGER buds_update AFTER UPDATE ON buds BEGIN
    UPDATE mcp_servers SET workspace_id = NEW.workspace_id, name = NEW.name, description = NEW.description,
        metadata = json_object('name', NEW.name, 'description', NEW.description, 'methods', json((
            SELECT CASE count(*) WHEN 0
                THEN '[{"name":"ask","description":"Asks the bud","inputSchema":{"type":"object","properties":{"message":{"type":"string","description":"What to say to it"}},"required":["message"]}}]'
                ELSE json_group_array(json_object('name', json_extract(value, '$.name'),
                    'description', coalesce(json_extract(value, '$.description'), ''),
                    'inputSchema', json(json_extract(value, '$.inputSchema')))) END
            FROM json_each(NEW.methods)))),
        updated_at = NEW.updated_at
    WHERE bud_id = NEW.id;
END;
CREATE TRIGGER buds_delete AFTER DELETE ON buds BEGIN
    DELETE FROM mcp_servers WHERE bud_id = OLD.id;
END;
CREATE VIRTUAL TABLE file_words USING fts5(file_id UNINDEXED, name, text);
CREATE TRIGGER files_insert AFTER INSERT ON files BEGIN
    INSERT INTO file_words (file_id, name, text) VALUES (NEW.id, NEW.name, NEW.text);
END;
CREATE TRIGGER files_delete AFTER DELETE ON files BEGIN
    DELETE FROM file_words WHERE file_id = OLD.id;
END;
-- only postgres
CREATE FUNCTION bud_metadata(bud buds) RETURNS text LANGUAGE sql AS $$
    SELECT json_build_object('name', bud.name, 'description', bud.description, 'methods', coalesce((
        SELECT json_agg(json_build_object('name', it->>'name', 'description', coalesce(it->>'description', ''),
            'inputSchema', it->'inputSchema') ORDER BY place)
        FROM json_array_elements(bud.methods::json) WITH ORDINALITY AS methods (it, place)),
        '[{"name":"ask","description":"Asks the bud","inputSchema":{"type":"object","properties":{"message":{"type":"string","description":"What to say to it"}},"required":["message"]}}]'::json))::text
$$;
CREATE FUNCTION buds_follow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO mcp_servers (id, workspace_id, bud_id, endpoint, metadata, name, description, origin, transport,
            config, created_at, updated_at)
        VALUES (NEW.id, NEW.workspace_id, NEW.id, 'bud://' || NEW.id, bud_metadata(NEW), NEW.name, NEW.description,
            'bud', 'bud', '{}', NEW.created_at, NEW.updated_at);
    ELSIF TG_OP = 'UPDATE' THEN
        UPDATE mcp_servers SET workspace_id = NEW.workspace_id, name = NEW.name, description = NEW.description,
            metadata = bud_metadata(NEW), updated_at = NEW.updated_at
        WHERE bud_id = NEW.id;
    ELSE
        DELETE FROM mcp_servers WHERE bud_id = OLD.id;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER buds_follow AFTER INSERT OR UPDATE OR DELETE ON buds FOR EACH ROW EXECUTE FUNCTION buds_follow();
CREATE INDEX files_words ON files USING gin (to_tsvector('simple', name || ' ' || text));
-- both
