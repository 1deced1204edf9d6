-- Deletes messages that are pending or dead, or whose lease expired; others are left alone, and those that
-- a sink is about to get: a lease on one of their deliveries runs.
--
-- $1 ids, $2 limit, $3 dry_run: true only counts, $4 tenant (null does not limit)
-- Index: NAME_pkey, and NAME_delivery_pkey; then by ctid. Their deliveries: NAME_delivery_pkey;
-- their attempts: NAME_attempt_message.
-- Rows that somebody holds are skipped.
WITH target AS MATERIALIZED (
  SELECT ctid FROM {{table}} AS m
  WHERE id = ANY ($1::uuid[]) AND (status IN ('pending', 'dead')
      OR (status = 'processing' AND locked_until < now()))
    AND ($4::uuid IS NULL OR (tenant_id = $4) IS TRUE)
    AND (SELECT true FROM {{delivery}} AS d
         WHERE d.id = m.id AND d.status = 'processing' AND d.locked_until >= now() LIMIT 1) IS NULL
  LIMIT $2::bigint FOR UPDATE SKIP LOCKED
), changed AS (
  DELETE FROM {{table}} AS m
  WHERE NOT $3::boolean AND m.ctid = ANY (ARRAY(SELECT ctid FROM target)) RETURNING id, seq
), deliveries AS (
  DELETE FROM {{delivery}} WHERE id IN (SELECT id FROM changed)
), attempts AS (
  DELETE FROM {{attempt}} WHERE seq IN (SELECT seq FROM changed)
)
SELECT CASE WHEN $3 THEN (SELECT count(*) FROM target) ELSE (SELECT count(*) FROM changed) END
