-- The server process that answers. Not the one that greeted us: a pooler stands between.
SELECT pg_backend_pid()
