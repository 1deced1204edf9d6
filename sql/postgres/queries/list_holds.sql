-- What is held.
-- $1 limit
-- Index: hold_pkey.
SELECT table_name, sink, since, held_by, reason FROM outbox.hold ORDER BY table_name, sink
LIMIT $1::bigint
