-- The migrations a table has had, oldest first.
-- $1 table as schema.name
-- Index: migration_pkey.
SELECT number FROM outbox.migration WHERE table_name = $1::text ORDER BY number
