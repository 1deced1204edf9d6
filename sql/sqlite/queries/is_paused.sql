-- A row when the whole table is paused. ?1 table. Index: the primary key.
SELECT 1 FROM "main"."outbox_pause" WHERE table_name = ?1 AND sink = '';
