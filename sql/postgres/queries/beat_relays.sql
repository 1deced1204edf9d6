-- A heartbeat: writes how the relays of a process stand, removes what nobody has beaten for a day, and
-- returns the pauses of these tables.
--
-- $1 process, $2 host, $3 pid, $4 version, $5 interval in milliseconds
-- one element a relay: $6 tables, $7 sinks, $8 states, $9 leads (1, 0; -1: not single-active),
-- $10 in flight, $11 delivered, $12 failed
-- $13 rows removed at most
--
-- Index: relay_pkey, pause_pkey; what is old is looked for in the whole table, which has a row a relay.
-- Rows that another process removes just now are skipped.
WITH beaten AS (
  INSERT INTO outbox.relay AS r (process, table_name, sink, host, pid, version, state, leads,
    in_flight, delivered, failed, interval_ms)
  SELECT $1::text, t.table_name, t.sink, $2::text, $3::integer, $4::text, t.state,
    CASE t.leads WHEN 1 THEN true WHEN 0 THEN false END, t.in_flight, t.delivered, t.failed, $5::bigint
  FROM unnest($6::text[], $7::text[], $8::text[], $9::smallint[], $10::bigint[], $11::bigint[],
    $12::bigint[]) AS t (table_name, sink, state, leads, in_flight, delivered, failed)
  ON CONFLICT (process, table_name, sink) DO UPDATE SET
    state = excluded.state, leads = excluded.leads, in_flight = excluded.in_flight,
    delivered = excluded.delivered, failed = excluded.failed, interval_ms = excluded.interval_ms,
    beat_at = now()
), removed AS (
  DELETE FROM outbox.relay WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM outbox.relay
    WHERE beat_at < now() - interval '1 day' AND process <> $1
    LIMIT $13::bigint FOR UPDATE SKIP LOCKED))
)
SELECT table_name, sink, since, paused_by, reason FROM outbox.pause
WHERE table_name = ANY ($6) ORDER BY table_name, sink
