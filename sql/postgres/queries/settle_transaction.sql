-- Records the outcomes of all messages of a transaction claim, in one statement. The rows are locked
-- by this transaction, so nothing has to be compared; an attempt is counted now, unless released.
--
-- $1 ctids, $2 kinds (0 delivered, 1 retry, 2 dead, 3 released), $3 retry delays in milliseconds,
-- $4 errors: arrays of one length
-- $5 keep_delivered   false: delivered rows are deleted
--
-- Index: none, by ctid.
WITH outcome AS (
  SELECT * FROM unnest($1::tid[], $2::smallint[], $3::bigint[], $4::text[])
    AS o (address, kind, retry_in, error)
), deleted AS (
  DELETE FROM {{table}} AS m USING outcome AS o
  WHERE o.kind = 0 AND NOT $5::boolean AND m.ctid = o.address
  RETURNING m.seq
), updated AS (
  UPDATE {{table}} AS m SET
    status = (ARRAY['delivered', 'pending', 'dead', 'pending'])[o.kind + 1],
    attempts = CASE o.kind WHEN 3 THEN m.attempts
      ELSE greatest(least(m.attempts, 2147483646), 0) + 1 END,
    available_at = CASE
      WHEN o.kind = 1 OR (o.kind = 3 AND o.retry_in > 0)
        THEN statement_timestamp() + o.retry_in * interval '1 ms'
      WHEN o.kind = 2 THEN 'infinity'
      ELSE m.available_at END,
    processed_at = CASE o.kind WHEN 0 THEN statement_timestamp() END,
    locked_by = NULL,
    locked_until = NULL,
    last_error = CASE WHEN o.kind = 0 THEN NULL
      WHEN o.kind = 3 AND o.retry_in = 0 THEN m.last_error ELSE o.error END,
    in_doubt = o.kind = 3 AND m.in_doubt,
    updated_at = statement_timestamp()
  FROM outcome AS o
  WHERE (o.kind <> 0 OR $5) AND m.ctid = o.address
  RETURNING m.seq
)
SELECT seq FROM deleted UNION ALL SELECT seq FROM updated
