-- Pauses the relays of a table, or of one sink of it. Paused already: changes nothing. ?1 table, ?2 sink
-- (empty: all), ?3 by whom, ?4 reason. Index: the primary key.
INSERT INTO "main"."outbox_pause" (table_name, sink, since, paused_by, reason)
VALUES (?1, ?2, {{now}}, ?3, ?4) ON CONFLICT (table_name, sink) DO NOTHING;
