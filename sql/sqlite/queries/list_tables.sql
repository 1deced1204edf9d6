-- Every table the registry knows, sorted. Index: the primary key.
SELECT DISTINCT table_name FROM "main"."outbox_migration" ORDER BY table_name;
