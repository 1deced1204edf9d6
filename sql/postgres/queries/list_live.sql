-- A page of what is not delivered: next due first, the dead at the end, oldest first.
--
-- $1 limit
-- $2 status, $3 attempts > 0, $4 regular expression of topics, $5 key, $6, $7 created from and
--   until, $8 part of last_error: null does not limit
-- $9, $10 after       available_at and seq of the last row of the page before
-- $11, $12 end        the last row to be looked at
-- $13 dead            true: only the dead; false: only the others; null: both
-- $14 whole            payload and headers too
--
-- Index: NAME_claim, forward; the dead have available_at = infinity and stand together.
SELECT id, seq, namespace, topic, event_type, event_version, aggregate_type, aggregate_id, key,
  tenant_id, dedupe_key, CASE WHEN $14::boolean THEN payload END, CASE WHEN $14 THEN headers END,
  attempts, created_at, available_at,
  status, locked_by, locked_until, last_error, updated_at, processed_at
FROM {{table}}
WHERE processed_at IS NULL
  AND (available_at, seq) > ($9::timestamptz, $10::bigint)
  AND (available_at, seq) <= ($11::timestamptz, $12::bigint)
  AND available_at >= CASE WHEN $13::boolean THEN 'infinity' ELSE '-infinity' END::timestamptz
  AND available_at <= CASE WHEN $13 IS FALSE THEN '294276-12-31' ELSE 'infinity' END::timestamptz
  AND ($2::text IS NULL OR status = $2) AND ($3::boolean IS NULL OR (attempts > 0) = $3)
  AND ($4::text IS NULL OR topic ~ $4) AND ($5::text IS NULL OR key = $5)
  AND ($6::timestamptz IS NULL OR created_at >= $6)
  AND ($7::timestamptz IS NULL OR created_at < $7)
  AND ($8::text IS NULL OR strpos(last_error, $8) > 0)
ORDER BY available_at, seq
LIMIT $1::bigint
