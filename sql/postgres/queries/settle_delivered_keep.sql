-- Marks all that a lease claim still holds as delivered. The fast path of settle.sql.
--
-- $1 ctids, $2 token
-- Index: none, by ctid. A row that is no longer ours, or moved, is not returned.
UPDATE {{table}} SET
  status = 'delivered', processed_at = statement_timestamp(), locked_by = NULL, locked_until = NULL,
  last_error = NULL, updated_at = statement_timestamp()
WHERE ctid = ANY ($1::tid[]) AND locked_by = $2::text
RETURNING seq
