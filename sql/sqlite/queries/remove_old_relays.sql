-- Removes what nobody has beaten for a day. ?1 rows at most. Index: none; the table has a row a relay.
DELETE FROM "main"."outbox_relay" WHERE (process, table_name, sink) IN (
  SELECT process, table_name, sink FROM "main"."outbox_relay"
  WHERE beat_at < {{now}} - 86400000 LIMIT ?1);
