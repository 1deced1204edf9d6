-- settle_delivered_delete.sql for a relay that keeps a history of attempts: the message's goes with it.
--
-- $1 ctids, $2 seqs: arrays of one length
-- $3 token            rows that do not carry it are not ours, and are left alone
--
-- Index: none, by ctid, as settle_delivered_delete.sql; NAME_attempt_message.
WITH deleted AS (
  DELETE FROM {{table}} AS m
  USING unnest($1::tid[], $2::bigint[]) AS o (address, seq)
  WHERE m.ctid = o.address AND m.seq = o.seq AND m.locked_by = $3::text
  RETURNING m.seq
), forgotten AS (
  DELETE FROM {{attempt}} WHERE seq IN (SELECT seq FROM deleted)
)
SELECT seq FROM deleted
