-- The rows of a repair: dead messages, oldest first. ?1 topic or NULL, ?2 limit. Index: _claim.
SELECT seq FROM {{table}}
WHERE processed_at IS NULL AND available_at = 9223372036854775807 AND (?1 IS NULL OR topic = ?1)
ORDER BY seq
LIMIT ?2;
