-- The pauses of a table that is removed.
-- $1 table
-- Index: pause_pkey.
DELETE FROM outbox.pause WHERE table_name = $1::text
