-- The seq of the row that is so many rows on in list_aggregate.sql: where a call stops looking at rows.
--
-- $1 after            seq
-- $2 rows
-- $3 aggregate_type, $4 aggregate_id
-- Index: NAME_aggregate, backward, alone.
SELECT seq FROM {{table}}
WHERE aggregate_type = $3::text AND aggregate_id = $4::text AND seq < $1::bigint
ORDER BY seq DESC
OFFSET $2::bigint - 1 LIMIT 1
