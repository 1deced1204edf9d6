-- Ends the pauses of a table, or that of one sink of it. ?1 table, ?2 sink (empty: all).
-- Index: the primary key.
DELETE FROM "main"."outbox_pause" WHERE table_name = ?1 AND (?2 = '' OR sink = ?2);
