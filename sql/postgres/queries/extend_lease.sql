-- Makes a lease last longer.
--
-- $1 ids, $2 token, $3 lease in milliseconds
-- Index: NAME_pkey, for the reason settle.sql gives. HOT.
-- Returns the new ctid of each row; one that is no longer ours is missing.
UPDATE {{table}} SET locked_until = now() + $3::bigint * interval '1 ms'
WHERE id = ANY ($1::uuid[]) AND locked_by = $2::text
RETURNING seq, ctid
