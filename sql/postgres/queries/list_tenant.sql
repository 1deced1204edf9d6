-- A page of one tenant's messages, newest first.
--
-- $1 limit
-- $2 status, $3 attempts > 0, $4 regular expression of topics, $5 key, $6, $7 created from and
--   until, $8 part of last_error: null does not limit
-- $9 tenant
-- $10 after           seq of the last row of the page before
-- $11 end             the smallest seq to be looked at
-- $12 offset          rows to be passed over
-- $13, $14            whether what is not delivered, and what was, is wanted
-- $15 whole            payload and headers too
--
-- Index: NAME_tenant_live and NAME_tenant_history, backward, merged.
SELECT * FROM (
  (SELECT id, seq, namespace, topic, event_type, event_version, aggregate_type, aggregate_id, key,
     tenant_id, dedupe_key, CASE WHEN $15::boolean THEN payload END, CASE WHEN $15 THEN headers END,
     attempts, created_at, available_at,
     status, locked_by, locked_until, last_error, updated_at, processed_at
   FROM {{table}}
   WHERE $13::boolean AND tenant_id = $9::uuid AND processed_at IS NULL
     AND seq < $10::bigint AND seq >= $11::bigint
     AND ($2::text IS NULL OR status = $2) AND ($3::boolean IS NULL OR (attempts > 0) = $3)
     AND ($4::text IS NULL OR topic ~ $4) AND ($5::text IS NULL OR key = $5)
     AND ($6::timestamptz IS NULL OR created_at >= $6)
     AND ($7::timestamptz IS NULL OR created_at < $7)
     AND ($8::text IS NULL OR strpos(last_error, $8) > 0)
   ORDER BY seq DESC LIMIT $1::bigint + $12::bigint)
  UNION ALL
  (SELECT id, seq, namespace, topic, event_type, event_version, aggregate_type, aggregate_id, key,
     tenant_id, dedupe_key, CASE WHEN $15 THEN payload END, CASE WHEN $15 THEN headers END,
     attempts, created_at, available_at,
     status, locked_by, locked_until, last_error, updated_at, processed_at
   FROM {{table}}
   WHERE $14::boolean AND tenant_id = $9::uuid AND processed_at IS NOT NULL
     AND seq < $10::bigint AND seq >= $11::bigint
     AND ($2::text IS NULL OR status = $2) AND ($3::boolean IS NULL OR (attempts > 0) = $3)
     AND ($4::text IS NULL OR topic ~ $4) AND ($5::text IS NULL OR key = $5)
     AND ($6::timestamptz IS NULL OR created_at >= $6)
     AND ($7::timestamptz IS NULL OR created_at < $7)
     AND ($8::text IS NULL OR strpos(last_error, $8) > 0)
   ORDER BY seq DESC LIMIT $1::bigint + $12::bigint)
) AS page
ORDER BY seq DESC
LIMIT $1 OFFSET $12
