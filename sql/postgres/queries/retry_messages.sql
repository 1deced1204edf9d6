-- Makes messages pending again that failed or are dead, have a dead delivery, or whose lease expired:
-- attempts start anew, available now.
--
-- $1 ids, $2 limit, $3 dry_run: true only counts, $4 tenant (null does not limit)
-- Index: NAME_pkey and NAME_delivery_pkey; then by ctid. Rows that somebody holds are skipped.
WITH target AS MATERIALIZED (
  SELECT ctid FROM {{table}} AS m
  WHERE id = ANY ($1::uuid[])
    AND (status = 'dead' OR (status = 'pending' AND attempts > 0)
      OR (status = 'processing' AND locked_until < now())
      OR ((locked_by = 'deliveries' OR status = 'delivered') AND EXISTS (
        SELECT FROM {{delivery}} AS d WHERE d.id = m.id AND d.status = 'dead')))
    AND ($4::uuid IS NULL OR (tenant_id = $4) IS TRUE)
  LIMIT $2::bigint FOR UPDATE SKIP LOCKED
), changed AS (
  UPDATE {{table}} AS m SET
    status = 'pending', attempts = 0, available_at = now(), locked_by = NULL, locked_until = NULL,
    processed_at = NULL, in_doubt = false, updated_at = now()
  WHERE NOT $3::boolean AND m.ctid = ANY (ARRAY(SELECT ctid FROM target)) RETURNING 1
)
SELECT CASE WHEN $3 THEN (SELECT count(*) FROM target) ELSE (SELECT count(*) FROM changed) END
