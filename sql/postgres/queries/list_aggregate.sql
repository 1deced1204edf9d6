-- A page of the history of one aggregate, newest first.
--
-- $1 limit
-- $2 after            seq of the last row of the page before
-- $3 aggregate_type, $4 aggregate_id
-- $5 status, $6 topic, $7 key, $8 tenant: null does not limit
--
-- Index: NAME_aggregate, backward.
SELECT id, seq, namespace, topic, event_type, event_version, aggregate_type, aggregate_id, key,
  tenant_id, dedupe_key, NULL::json, NULL::json, attempts, created_at, available_at,
  status, locked_by, locked_until, last_error, updated_at, processed_at
FROM {{table}}
WHERE aggregate_type = $3::text AND aggregate_id = $4::text AND seq < $2::bigint
  AND ($5::text IS NULL OR status = $5)
  AND ($6::text IS NULL OR topic = $6)
  AND ($7::text IS NULL OR key = $7)
  AND ($8::uuid IS NULL OR (tenant_id = $8) IS TRUE)
ORDER BY seq DESC
LIMIT $1::bigint
