-- The holds of a table that is removed.
-- $1 table
-- Index: hold_pkey.
DELETE FROM outbox.hold WHERE table_name = $1::text
