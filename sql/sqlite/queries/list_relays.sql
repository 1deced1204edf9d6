-- The relays of all processes, those that live first. Gone: no heartbeat for three intervals. ?1 limit.
-- Index: none; the table has a row a relay.
SELECT process, host, pid, version, table_name, sink, state, leads, in_flight, delivered, failed,
  started_at, beat_at, {{now}} - beat_at, beat_at < {{now}} - interval_ms * 3 AS gone
FROM "main"."outbox_relay"
ORDER BY gone, table_name, sink, started_at, process
LIMIT ?1;
