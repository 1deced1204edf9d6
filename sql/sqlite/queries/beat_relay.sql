-- A relay's heartbeat. ?1 process, ?2 table, ?3 sink, ?4 host, ?5 pid, ?6 version, ?7 state, ?8 leads,
-- ?9 in flight, ?10 delivered, ?11 failed, ?12 interval in milliseconds. Index: the primary key.
INSERT INTO "main"."outbox_relay" (process, table_name, sink, host, pid, version, state, leads,
  in_flight, delivered, failed, interval_ms, started_at, beat_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, {{now}}, {{now}})
ON CONFLICT (process, table_name, sink) DO UPDATE SET
  state = excluded.state, leads = excluded.leads, in_flight = excluded.in_flight,
  delivered = excluded.delivered, failed = excluded.failed, interval_ms = excluded.interval_ms,
  beat_at = excluded.beat_at;
