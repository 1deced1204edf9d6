-- The moment of the row that is so many rows on in list_delivered.sql: where a call stops looking at rows.
-- Rows of one moment are looked at together.
--
-- $1, $2 after        processed_at and seq; 0: all of that moment is behind
-- $3 rows
-- Index: NAME_processed, backward, alone.
SELECT processed_at FROM {{table}}
WHERE processed_at IS NOT NULL AND processed_at <= $1::timestamptz
  AND (processed_at < $1 OR $2::bigint > 0)
ORDER BY processed_at DESC
OFFSET $3::bigint - 1 LIMIT 1
