-- What is held. ?1 limit. Index: the primary key.
SELECT table_name, sink, since, held_by, reason FROM "main"."outbox_hold" ORDER BY table_name, sink
LIMIT ?1;
