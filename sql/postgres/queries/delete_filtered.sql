-- Deletes the failed or the dead that a filter takes, but for those that a sink is about to get.
--
-- $1 dead             true: the dead, oldest first; false: the failed, next due first
-- $2 limit, $3 dry_run: true only counts
-- $4 tenant, $5 regular expression of topics, $6, $7 created from and until, $8 part of last_error:
--   null does not limit
--
-- Index: NAME_claim, or NAME_tenant_live; NAME_delivery_pkey for each row; then by ctid. Their deliveries:
-- NAME_delivery_pkey; their attempts: NAME_attempt_message.
-- Rows that somebody holds are skipped.
WITH target AS MATERIALIZED (
  SELECT ctid FROM {{table}} AS m
  WHERE processed_at IS NULL
    AND status = CASE WHEN $1::boolean THEN 'dead' ELSE 'pending' END AND ($1 OR attempts > 0)
    AND available_at >= CASE WHEN $1 THEN 'infinity' ELSE '-infinity' END::timestamptz
    AND available_at <= CASE WHEN $1 THEN 'infinity' ELSE '294276-12-31' END::timestamptz
    AND ($4::uuid IS NULL OR tenant_id = $4) AND ($5::text IS NULL OR topic ~ $5)
    AND ($6::timestamptz IS NULL OR created_at >= $6)
    AND ($7::timestamptz IS NULL OR created_at < $7)
    AND ($8::text IS NULL OR strpos(last_error, $8) > 0)
    AND (SELECT true FROM {{delivery}} AS d
         WHERE d.id = m.id AND d.status = 'processing' AND d.locked_until >= now() LIMIT 1) IS NULL
  ORDER BY available_at, seq LIMIT $2::bigint FOR UPDATE SKIP LOCKED
), changed AS (
  DELETE FROM {{table}} AS m
  WHERE NOT $3::boolean AND m.ctid = ANY (ARRAY(SELECT ctid FROM target)) RETURNING id, seq
), deliveries AS (
  DELETE FROM {{delivery}} WHERE id IN (SELECT id FROM changed)
), attempts AS (
  DELETE FROM {{attempt}} WHERE seq IN (SELECT seq FROM changed)
)
SELECT CASE WHEN $3 THEN (SELECT count(*) FROM target) ELSE (SELECT count(*) FROM changed) END
