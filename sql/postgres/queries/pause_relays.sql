-- Pauses the relays of a table, or of one sink of it, and records who did. Paused already: changes nothing.
-- $1 table, $2 sink (empty: all), $3 by whom, $4 reason, $5 filter, $6 request id
-- Index: pause_pkey.
WITH changed AS (
  INSERT INTO outbox.pause (table_name, sink, paused_by, reason)
  VALUES ($1::text, $2::text, $3::text, $4::text)
  ON CONFLICT (table_name, sink) DO NOTHING RETURNING 1
), recorded AS (
  INSERT INTO outbox.audit (actor, action, table_name, filter, matched, changed, request_id)
  SELECT $3, 'pause', $1, $5::json, 1, 1, $6::text FROM changed
)
SELECT count(*) FROM changed
