-- Makes a lease last longer.
--
-- $1 ctids, $2 token, $3 lease in milliseconds
-- Index: none, by ctid. HOT. Returns the new ctid of each row; one that is no longer ours is missing.
UPDATE {{table}} SET locked_until = now() + $3::bigint * interval '1 ms'
WHERE ctid = ANY ($1::tid[]) AND locked_by = $2::text
RETURNING seq, ctid
