INSERT INTO call_pages (first_id, last_id, person_id, calls, body, created_at) VALUES
    ('00000000-0000-7000-8000-000000000111', '00000000-0000-7000-8000-000000000111',
     '00000000-0000-7000-8000-000000000001', 1,
     '{"start":5,"kinds":[{"door":"mcp","method":"tools/call","tool":"rain","outcome":"done","depth":0}],"calls":[["00000000000070008000000000000111",0,0,1.25,10,20,40,null]]}',
     6);
