-- A page of what was delivered, newest first.
--
-- $1 limit
-- $2 status, $3 attempts > 0, $4 regular expression of topics, $5 key, $6, $7 created from and
--   until, $8 part of last_error: null does not limit
-- $9, $10 after       processed_at and seq of the last row of the page before
-- $11 end             the oldest processed_at to be looked at
-- $12 whole            payload and headers too
--
-- Index: NAME_processed, backward; rows of one moment are sorted by seq. Nothing is delivered before it
-- is created.
SELECT id, seq, namespace, topic, event_type, event_version, aggregate_type, aggregate_id, key,
  tenant_id, dedupe_key, CASE WHEN $12::boolean THEN payload END, CASE WHEN $12 THEN headers END,
  attempts, created_at, available_at,
  status, locked_by, locked_until, last_error, updated_at, processed_at
FROM {{table}}
WHERE processed_at IS NOT NULL
  AND processed_at <= $9::timestamptz AND (processed_at < $9 OR seq < $10::bigint)
  AND processed_at >= greatest($11::timestamptz, $6)
  AND ($2::text IS NULL OR status = $2) AND ($3::boolean IS NULL OR (attempts > 0) = $3)
  AND ($4::text IS NULL OR topic ~ $4) AND ($5::text IS NULL OR key = $5)
  AND ($6::timestamptz IS NULL OR created_at >= $6)
  AND ($7::timestamptz IS NULL OR created_at < $7)
  AND ($8::text IS NULL OR strpos(last_error, $8) > 0)
ORDER BY processed_at DESC, seq DESC
LIMIT $1::bigint
