-- Records the outcomes of messages of a lease claim, of any kind, in one statement.
--
-- $1 ids, $2 kinds (0 delivered, 1 retry, 2 dead, 3 released), $3 retry delays in milliseconds,
-- $4 errors: arrays of one length
-- $5 token            rows that do not carry it are not ours, and are left alone
-- $6 keep_delivered   false: delivered rows are deleted
--
-- Index: NAME_pkey. Finding rows by index, unlike by ctid, lets the server tidy a page up as it goes,
-- and so makes room there for HOT updates; it also finds rows that moved since they were claimed.
WITH outcome AS (
  SELECT * FROM unnest($1::uuid[], $2::smallint[], $3::bigint[], $4::text[])
    AS o (id, kind, retry_in, error)
), deleted AS (
  DELETE FROM {{table}} AS m USING outcome AS o
  WHERE o.kind = 0 AND NOT $6::boolean AND m.id = o.id AND m.locked_by = $5::text
  RETURNING m.seq
), updated AS (
  UPDATE {{table}} AS m SET
    status = (ARRAY['delivered', 'pending', 'dead', 'pending'])[o.kind + 1],
    attempts = CASE o.kind WHEN 3 THEN greatest(m.attempts, 1) - 1 ELSE m.attempts END,
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
  WHERE (o.kind <> 0 OR $6) AND m.id = o.id AND m.locked_by = $5::text
  RETURNING m.seq
)
SELECT seq FROM deleted UNION ALL SELECT seq FROM updated
