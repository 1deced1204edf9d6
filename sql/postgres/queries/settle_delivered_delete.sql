-- Deletes all that a lease claim still holds, being delivered. The fast path of settle.sql.
--
-- $1 ctids, $2 token
-- Index: none, by ctid. A row that is no longer ours, or moved, is not returned.
DELETE FROM {{table}} WHERE ctid = ANY ($1::tid[]) AND locked_by = $2::text RETURNING seq
