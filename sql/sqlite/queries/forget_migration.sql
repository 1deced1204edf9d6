-- Notes that a migration was taken back. ?1 table name, ?2 number. Index: the primary key.
DELETE FROM "main"."outbox_migration" WHERE table_name = ?1 AND number = ?2;
