-- One row as it stands.
-- $1 id, $2 tenant (null does not limit)
-- Index: NAME_pkey.
SELECT id, seq, namespace, topic, event_type, event_version, aggregate_type, aggregate_id, key,
  tenant_id, dedupe_key, payload, headers, attempts, created_at, available_at,
  status, locked_by, locked_until, last_error, updated_at, processed_at
FROM {{table}} WHERE id = $1::uuid AND ($2::uuid IS NULL OR (tenant_id = $2) IS TRUE)
