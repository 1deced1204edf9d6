-- The place of the row that is so many rows on in list_live.sql: where a call stops looking at rows.
--
-- $1, $2 after        available_at and seq
-- $3 rows
-- $4 dead             as in list_live.sql
-- Index: NAME_claim, forward, alone.
SELECT available_at, seq FROM {{table}}
WHERE processed_at IS NULL
  AND (available_at, seq) > ($1::timestamptz, $2::bigint)
  AND available_at >= CASE WHEN $4::boolean THEN 'infinity' ELSE '-infinity' END::timestamptz
  AND available_at <= CASE WHEN $4 IS FALSE THEN '294276-12-31' ELSE 'infinity' END::timestamptz
ORDER BY available_at, seq
OFFSET $3::bigint - 1 LIMIT 1
