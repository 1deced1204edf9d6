-- The moment of the row that is so many rows on in list_delivered.sql: where a call stops looking at rows.
--
-- $1 after            processed_at
-- $2 rows
-- Index: NAME_processed, backward, alone.
SELECT processed_at FROM {{table}}
WHERE processed_at IS NOT NULL AND processed_at <= $1::timestamptz
ORDER BY processed_at DESC
OFFSET $2::bigint - 1 LIMIT 1
