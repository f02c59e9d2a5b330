-- What a person allows in a chat, what hubs with one database agree on, and the way from a call to those it made.

-- Tools that may be called in a chat without asking, and nowhere else.
CREATE TABLE chat_permissions (
    chat_id TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    instance_id TEXT NOT NULL REFERENCES mcp_instances (id) ON DELETE CASCADE,
    tool TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (chat_id, instance_id, tool)
);

-- The tokens that a server with a rate limit had left at `filled_at`, in seconds of the database's clock.
CREATE TABLE rate_buckets (
    server_id TEXT PRIMARY KEY REFERENCES mcp_servers (id) ON DELETE CASCADE,
    tokens DOUBLE PRECISION NOT NULL,
    filled_at DOUBLE PRECISION NOT NULL
);

CREATE INDEX calls_parent ON calls (parent_id) WHERE parent_id IS NOT NULL;
