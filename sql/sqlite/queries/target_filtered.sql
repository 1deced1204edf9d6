-- The rows of a repair: the dead, oldest first, or the failed, next due first.
-- ?1 status, ?2, ?3 the available_at it has at least and at most, ?9 limit. Null does not limit:
-- ?4 unused, ?5 pattern of topics, ?6, ?7 created from and until, ?8 part of last_error. Index: _claim.
SELECT seq FROM {{table}}
WHERE processed_at IS NULL AND available_at BETWEEN ?2 AND ?3
  AND status = ?1 AND (status = 'dead' OR attempts > 0)
  AND (?5 IS NULL OR outbox_topic_matches(?5, topic)) AND (?6 IS NULL OR created_at >= ?6)
  AND (?7 IS NULL OR created_at < ?7)
  AND (?8 IS NULL OR coalesce(instr(last_error, ?8), 0) > 0)
ORDER BY available_at, seq
LIMIT ?9;
