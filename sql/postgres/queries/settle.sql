-- Records the outcomes of messages of a lease claim, of any kind, in one statement.
--
-- $1 ctids, $2 seqs, $3 kinds (0 delivered, 1 retry, 2 dead, 3 released), $4 retry delays in
-- milliseconds, $5 errors: arrays of one length
-- $6 token            rows that do not carry it are not ours, and are left alone
-- $7 keep_delivered   false: delivered rows are deleted
--
-- Index: none, by ctid. The seq is compared because a ctid is used again after its row moved.
WITH outcome AS (
  SELECT * FROM unnest($1::tid[], $2::bigint[], $3::smallint[], $4::bigint[], $5::text[])
    AS o (address, seq, kind, retry_in, error)
), deleted AS (
  DELETE FROM {{table}} AS m USING outcome AS o
  WHERE o.kind = 0 AND NOT $7::boolean
    AND m.ctid = o.address AND m.seq = o.seq AND m.locked_by = $6::text
  RETURNING m.seq
), updated AS (
  UPDATE {{table}} AS m SET
    status = (ARRAY['delivered', 'pending', 'dead', 'pending'])[o.kind + 1],
    attempts = m.attempts - CASE o.kind WHEN 3 THEN 1 ELSE 0 END,
    available_at = CASE o.kind
      WHEN 1 THEN statement_timestamp() + o.retry_in * interval '1 ms'
      WHEN 2 THEN 'infinity'
      ELSE m.available_at END,
    processed_at = CASE o.kind WHEN 0 THEN statement_timestamp() END,
    locked_by = NULL,
    locked_until = NULL,
    last_error = CASE WHEN o.kind = 0 THEN NULL WHEN o.kind = 3 THEN m.last_error ELSE o.error END,
    updated_at = statement_timestamp()
  FROM outcome AS o
  WHERE (o.kind <> 0 OR $7) AND m.ctid = o.address AND m.seq = o.seq AND m.locked_by = $6::text
  RETURNING m.seq
)
SELECT seq FROM deleted UNION ALL SELECT seq FROM updated
