-- The relays of all processes, those that live first. Gone: no heartbeat for three intervals.
-- $1 limit
-- Index: none; a row a relay.
SELECT process, host, pid, version, table_name, sink, state, leads, in_flight, delivered, failed,
  started_at, beat_at, (extract(epoch FROM now() - beat_at) * 1000)::bigint,
  beat_at < now() - interval_ms * 3 * interval '1 millisecond' AS gone
FROM outbox.relay
ORDER BY gone, table_name, sink, started_at, process
LIMIT $1::bigint
