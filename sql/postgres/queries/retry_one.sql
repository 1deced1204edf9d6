-- Makes one message that failed or is dead pending again, and tells how it was found.
--
-- $1 id, $2 tenant (null does not limit)
-- Index: NAME_pkey; then by ctid.
-- No row: there is none. A row that somebody holds is found and not changed.
WITH found AS (
  SELECT status FROM {{table}}
  WHERE id = $1::uuid AND ($2::uuid IS NULL OR (tenant_id = $2) IS TRUE)
), target AS MATERIALIZED (
  SELECT ctid FROM {{table}}
  WHERE id = $1 AND ($2 IS NULL OR (tenant_id = $2) IS TRUE)
    AND (status = 'dead' OR (status = 'pending' AND attempts > 0))
  FOR UPDATE SKIP LOCKED
), changed AS (
  UPDATE {{table}} AS m SET
    status = 'pending', attempts = 0, available_at = now(), locked_by = NULL, locked_until = NULL,
    updated_at = now()
  WHERE m.ctid = ANY (ARRAY(SELECT ctid FROM target)) RETURNING 1
)
SELECT status, EXISTS (SELECT FROM changed) FROM found
