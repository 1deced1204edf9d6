-- Marks messages of a lease claim as delivered. The fast path of settle.sql.
--
-- $1 ctids, $2 seqs: arrays of one length
-- $3 token            rows that do not carry it are not ours, and are left alone
--
-- Index: none, by ctid. The seq is compared because a ctid is used again after its row has moved.
-- A row that is no longer ours, or has moved, is not returned.
UPDATE {{table}} AS m SET
  status = 'delivered', processed_at = statement_timestamp(), locked_by = NULL, locked_until = NULL,
  last_error = NULL, in_doubt = false, updated_at = statement_timestamp()
FROM unnest($1::tid[], $2::bigint[]) AS o (address, seq)
WHERE m.ctid = o.address AND m.seq = o.seq AND m.locked_by = $3::text
RETURNING m.seq
