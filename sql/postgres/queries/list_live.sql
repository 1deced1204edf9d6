-- A page of what is not delivered: next due first, the dead at the end, oldest first.
--
-- $1 limit
-- $2, $3 after        available_at and seq of the last row of the page before
-- $4 status, $5 topic, $6 key, $7 tenant: null does not limit
-- $8 dead             true: only the dead; false: only the others; null: both
--
-- Index: NAME_claim, forward; the dead have available_at = infinity and stand together.
SELECT id, seq, namespace, topic, event_type, event_version, aggregate_type, aggregate_id, key,
  tenant_id, dedupe_key, NULL::json, NULL::json, attempts, created_at, available_at,
  status, locked_by, locked_until, last_error, updated_at, processed_at
FROM {{table}}
WHERE processed_at IS NULL
  AND (available_at, seq) > ($2::timestamptz, $3::bigint)
  AND available_at >= CASE WHEN $8::boolean THEN 'infinity' ELSE '-infinity' END::timestamptz
  AND available_at <= CASE WHEN $8 IS FALSE THEN '294276-12-31' ELSE 'infinity' END::timestamptz
  AND ($4::text IS NULL OR status = $4)
  AND ($5::text IS NULL OR topic = $5)
  AND ($6::text IS NULL OR key = $6)
  AND ($7::uuid IS NULL OR (tenant_id = $7) IS TRUE)
ORDER BY available_at, seq
LIMIT $1::bigint
