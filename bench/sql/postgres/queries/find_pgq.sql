-- A row if PgQ can be created on this server.
SELECT name FROM pg_available_extensions WHERE name = 'pgq'
