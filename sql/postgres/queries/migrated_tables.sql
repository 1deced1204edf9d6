-- Every outbox table of this database.
-- Index: migration_pkey.
SELECT DISTINCT table_name FROM outbox.migration ORDER BY table_name
