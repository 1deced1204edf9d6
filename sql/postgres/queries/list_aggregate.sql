-- A page of the history of one aggregate, newest first.
--
-- $1 limit
-- $2 status, $3 attempts > 0, $4 regular expression of topics, $5 key, $6, $7 created from and
--   until, $8 part of last_error: null does not limit
-- $9 after            seq of the last row of the page before
-- $10 end             the smallest seq to be looked at
-- $11 aggregate_type, $12 aggregate_id
-- $13 tenant          null does not limit
-- $14 whole            payload and headers too
--
-- Index: NAME_aggregate, backward.
SELECT id, seq, namespace, topic, event_type, event_version, aggregate_type, aggregate_id, key,
  tenant_id, dedupe_key, CASE WHEN $14::boolean THEN payload END, CASE WHEN $14 THEN headers END,
  attempts, created_at, available_at,
  status, locked_by, locked_until, last_error, updated_at, processed_at
FROM {{table}}
WHERE aggregate_type = $11::text AND aggregate_id = $12::text
  AND seq < $9::bigint AND seq >= $10::bigint
  AND ($13::uuid IS NULL OR (tenant_id = $13) IS TRUE)
  AND ($2::text IS NULL OR status = $2) AND ($3::boolean IS NULL OR (attempts > 0) = $3)
  AND ($4::text IS NULL OR topic ~ $4) AND ($5::text IS NULL OR key = $5)
  AND ($6::timestamptz IS NULL OR created_at >= $6)
  AND ($7::timestamptz IS NULL OR created_at < $7)
  AND ($8::text IS NULL OR strpos(last_error, $8) > 0)
ORDER BY seq DESC
LIMIT $1::bigint
