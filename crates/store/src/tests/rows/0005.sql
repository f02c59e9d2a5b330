INSERT INTO calls (id, person_id, door, method, tool, depth, started_at, ms, outcome, bytes, created_at, client, timeline)
VALUES
    ('00000000-0000-7000-8000-000000000055', '00000000-0000-7000-8000-000000000001', 'mcp', 'tools/call',
     'mcp__weather__rain', 0, 5, 1.25, 'done', 10, 6, 'editor', '{"checked":20,"linked":40}');
