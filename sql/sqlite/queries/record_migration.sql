-- Notes that a migration was applied; a record left by a table dropped by hand is replaced.
-- ?1 table name, ?2 number, ?3 name.
INSERT OR REPLACE INTO "main"."outbox_migration" (table_name, number, name) VALUES (?1, ?2, ?3);
