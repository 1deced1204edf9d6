-- settle_delivered_keep.sql for a relay that keeps a history of all attempts.
--
-- $1 ctids, $2 seqs: arrays of one length
-- $3 token            rows that do not carry it are not ours, and are left alone
-- $4 destination, $5 worker, $6 when the rows were claimed
--
-- Index: none, by ctid, as settle_delivered_keep.sql.
WITH delivered AS (
  UPDATE {{table}} AS m SET
    status = 'delivered', processed_at = statement_timestamp(), locked_by = NULL, locked_until = NULL,
    last_error = NULL, in_doubt = false, updated_at = statement_timestamp()
  FROM unnest($1::tid[], $2::bigint[]) AS o (address, seq)
  WHERE m.ctid = o.address AND m.seq = o.seq AND m.locked_by = $3::text
  RETURNING m.id, m.seq, m.attempts
), noted AS (
  INSERT INTO {{attempt}} (id, seq, destination, attempt, worker, started_at, ended_at, result)
  SELECT id, seq, $4::text, attempts, $5::text, $6::timestamptz, statement_timestamp(), 'delivered'
  FROM delivered
)
SELECT seq FROM delivered
