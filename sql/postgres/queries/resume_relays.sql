-- Ends the pauses of a table, or that of one sink of it, and records who did.
-- $1 table, $2 sink (empty: all), $3 by whom, $4 filter, $5 request id
-- Index: pause_pkey.
WITH changed AS (
  DELETE FROM outbox.pause WHERE table_name = $1::text AND ($2::text = '' OR sink = $2) RETURNING 1
), recorded AS (
  INSERT INTO outbox.audit (actor, action, table_name, filter, matched, changed, request_id)
  SELECT $3::text, 'resume', $1, $4::json, count(*), count(*), $5::text FROM changed HAVING count(*) > 0
)
SELECT count(*) FROM changed
