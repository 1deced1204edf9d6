-- The migrations applied to a table, oldest first. ?1 table name. Index: the primary key.
SELECT number, name FROM "main"."outbox_migration" WHERE table_name = ?1 ORDER BY number;
