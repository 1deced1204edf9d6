-- A row when the whole table is held. ?1 table. Index: the primary key.
SELECT 1 FROM "main"."outbox_hold" WHERE table_name = ?1 AND sink = '';
