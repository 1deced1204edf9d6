-- What is paused. ?1 limit. Index: the primary key.
SELECT table_name, sink, since, paused_by, reason FROM "main"."outbox_pause" ORDER BY table_name, sink
LIMIT ?1;
