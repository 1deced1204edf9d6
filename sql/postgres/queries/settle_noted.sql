-- settle.sql for a relay that keeps a history of attempts: what it settles it notes, in the same
-- statement. A message that is deleted takes its history along.
--
-- $1 ids, $2 kinds (0 delivered, 1 retry, 2 dead, 3 released), $3 retry delays in milliseconds,
-- $4 errors: arrays of one length
-- $5 token            rows that do not carry it are not ours, and are left alone
-- $6 keep_delivered   false: delivered rows are deleted
-- $7 error classes    an array of the same length; empty: there was no error
-- $8 all              false: only failures are noted
-- $9 destination, $10 worker, $11 when the rows were claimed
--
-- Index: NAME_pkey, as settle.sql; NAME_attempt_message.
WITH outcome AS (
  SELECT * FROM unnest($1::uuid[], $2::smallint[], $3::bigint[], $4::text[], $7::text[])
    AS o (id, kind, retry_in, error, error_class)
), deleted AS (
  DELETE FROM {{table}} AS m USING outcome AS o
  WHERE o.kind = 0 AND NOT $6::boolean AND m.id = o.id AND m.locked_by = $5::text
  RETURNING m.seq
), forgotten AS (
  DELETE FROM {{attempt}} WHERE seq IN (SELECT seq FROM deleted)
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
  RETURNING m.id, m.seq, m.attempts, o.kind, o.error, o.error_class
), noted AS (
  INSERT INTO {{attempt}}
    (id, seq, destination, attempt, worker, started_at, ended_at, result, error_class, error)
  SELECT id, seq, $9::text, CASE kind WHEN 3 THEN least(attempts, 2147483646) + 1 ELSE attempts END, $10::text,
    $11::timestamptz, statement_timestamp(), (ARRAY['delivered', 'retry', 'dead', 'released'])[kind + 1],
    nullif(error_class, ''), CASE WHEN kind <> 0 THEN nullif(error, '') END
  FROM updated WHERE $8::boolean OR kind IN (1, 2) OR error_class <> ''
)
SELECT seq FROM deleted UNION ALL SELECT seq FROM updated
