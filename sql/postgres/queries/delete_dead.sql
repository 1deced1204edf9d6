-- Deletes the dead of a topic, oldest first.
--
-- $1 topic (null: any), $2 limit, $3 dry_run: true only counts
-- Index: NAME_claim; then by ctid. Their deliveries: NAME_delivery_pkey.
WITH target AS MATERIALIZED (
  SELECT ctid FROM {{table}}
  WHERE processed_at IS NULL AND available_at = 'infinity' AND status = 'dead'
    AND ($1::text IS NULL OR topic = $1)
  ORDER BY seq LIMIT $2::bigint FOR UPDATE SKIP LOCKED
), changed AS (
  DELETE FROM {{table}} AS m
  WHERE NOT $3::boolean AND m.ctid = ANY (ARRAY(SELECT ctid FROM target)) RETURNING id
), deliveries AS (
  DELETE FROM {{delivery}} WHERE id IN (SELECT id FROM changed)
)
SELECT CASE WHEN $3 THEN (SELECT count(*) FROM target) ELSE (SELECT count(*) FROM changed) END
