-- A page of what was delivered, newest first.
--
-- $1 limit
-- $2, $3 after        processed_at and seq of the last row of the page before
-- $4 status, $5 topic, $6 key, $7 tenant: null does not limit
--
-- Index: NAME_processed, backward; rows of one moment are sorted by seq.
SELECT id, seq, namespace, topic, event_type, event_version, aggregate_type, aggregate_id, key,
  tenant_id, dedupe_key, NULL::json, NULL::json, attempts, created_at, available_at,
  status, locked_by, locked_until, last_error, updated_at, processed_at
FROM {{table}}
WHERE processed_at IS NOT NULL
  AND processed_at <= $2::timestamptz AND (processed_at < $2 OR seq < $3::bigint)
  AND ($4::text IS NULL OR status = $4)
  AND ($5::text IS NULL OR topic = $5)
  AND ($6::text IS NULL OR key = $6)
  AND ($7::uuid IS NULL OR (tenant_id = $7) IS TRUE)
ORDER BY processed_at DESC, seq DESC
LIMIT $1::bigint
