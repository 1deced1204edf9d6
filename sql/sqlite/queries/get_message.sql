-- One message with its delivery state. ?1 id, ?2 tenant or NULL. Index: _id.
SELECT seq, id, namespace, topic, event_type, event_version, aggregate_type, aggregate_id, key,
  tenant_id, dedupe_key, payload, headers, attempts, created_at, available_at,
  status, locked_by, locked_until, last_error, updated_at, processed_at
FROM {{table}} WHERE id = ?1 AND (?2 IS NULL OR tenant_id = ?2);
