-- What is paused.
-- $1 limit
-- Index: pause_pkey.
SELECT table_name, sink, since, paused_by, reason FROM outbox.pause ORDER BY table_name, sink
LIMIT $1::bigint
