-- Makes one message pending again that failed or is dead, has a dead delivery, or whose lease expired,
-- and tells how it was found.
--
-- $1 id, $2 tenant (null does not limit)
-- Index: NAME_pkey and NAME_delivery_pkey; then by ctid.
-- No row: there is none. A row that somebody holds is found and not changed.
WITH found AS (
  SELECT status, locked_until FROM {{table}}
  WHERE id = $1::uuid AND ($2::uuid IS NULL OR (tenant_id = $2) IS TRUE)
), target AS MATERIALIZED (
  SELECT ctid FROM {{table}} AS m
  WHERE id = $1 AND ($2 IS NULL OR (tenant_id = $2) IS TRUE)
    AND (status = 'dead' OR (status = 'pending' AND attempts > 0)
      OR (status = 'processing' AND locked_until < now())
      OR ((locked_by = 'deliveries' OR status = 'delivered') AND EXISTS (
        SELECT FROM {{delivery}} AS d WHERE d.id = m.id AND d.status = 'dead')))
  FOR UPDATE SKIP LOCKED
), changed AS (
  UPDATE {{table}} AS m SET
    status = 'pending', attempts = 0, available_at = now(), locked_by = NULL, locked_until = NULL,
    processed_at = NULL, in_doubt = false, updated_at = now()
  WHERE m.ctid = ANY (ARRAY(SELECT ctid FROM target)) RETURNING 1
)
SELECT status, EXISTS (SELECT FROM changed), locked_until FROM found
