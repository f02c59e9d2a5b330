-- The calls of a rush: many calls of one person, as JSON, in the place of a row in `calls` for each.
CREATE TABLE call_pages (
    first_id TEXT PRIMARY KEY,
    last_id TEXT NOT NULL,
    person_id TEXT NOT NULL,
    calls BIGINT NOT NULL,
    body TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX call_pages_person ON call_pages (person_id, last_id);
