-- A page of one tenant's messages, those of one status, newest first. For the delivered.
--
-- $1 limit
-- $2 after            seq of the last row of the page before
-- $3 tenant
-- $4 status, $5 topic, $6 key: null does not limit
--
-- Index: NAME_tenant, backward.
SELECT id, seq, namespace, topic, event_type, event_version, aggregate_type, aggregate_id, key,
  tenant_id, dedupe_key, NULL::json, NULL::json, attempts, created_at, available_at,
  status, locked_by, locked_until, last_error, updated_at, processed_at
FROM {{table}}
WHERE tenant_id = $3::uuid AND seq < $2::bigint
  AND ($4::text IS NULL OR status = $4)
  AND ($5::text IS NULL OR topic = $5)
  AND ($6::text IS NULL OR key = $6)
ORDER BY seq DESC
LIMIT $1::bigint
