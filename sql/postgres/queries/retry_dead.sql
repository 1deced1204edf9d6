-- Makes the dead of a topic pending again, oldest first: attempts start anew, available now.
--
-- $1 topic (null: any), $2 limit, $3 dry_run: true only counts
-- Index: NAME_claim; then by ctid.
WITH target AS MATERIALIZED (
  SELECT ctid FROM {{table}}
  WHERE processed_at IS NULL AND available_at = 'infinity' AND status = 'dead'
    AND ($1::text IS NULL OR topic = $1)
  ORDER BY seq LIMIT $2::bigint FOR UPDATE SKIP LOCKED
), changed AS (
  UPDATE {{table}} AS m SET
    status = 'pending', attempts = 0, available_at = now(), locked_by = NULL, locked_until = NULL,
    updated_at = now()
  WHERE NOT $3::boolean AND m.ctid = ANY (ARRAY(SELECT ctid FROM target)) RETURNING 1
)
SELECT CASE WHEN $3 THEN (SELECT count(*) FROM target) ELSE (SELECT count(*) FROM changed) END
