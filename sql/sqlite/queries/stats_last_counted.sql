-- Where stats_live.sql stopped counting. ?1 rows that it counted. Index: _claim.
SELECT available_at, seq FROM {{table}}
WHERE processed_at IS NULL AND available_at < 9223372036854775807
ORDER BY available_at, seq
LIMIT 1 OFFSET ?1 - 1;
