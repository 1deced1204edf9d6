-- Removes the records of a table that was dropped.
-- $1 table as schema.name
DELETE FROM outbox.migration WHERE table_name = $1::text
