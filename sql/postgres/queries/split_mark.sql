-- Marks messages as split: what becomes of them is now up to their deliveries.
--
-- $1 ids
-- Index: NAME_pkey.
UPDATE {{table}} SET
  status = 'processing', available_at = '9999-12-31 00:00:00+00', locked_by = 'deliveries',
  locked_until = NULL, in_doubt = false, updated_at = now()
WHERE id = ANY ($1::uuid[])
