-- The rows of a repair: the dead, oldest first, or the failed, next due first.
-- ?1 status, ?2, ?3 the available_at it has at least and at most, ?9 limit,
-- ?10 whether to leave those alone that a sink is about to get (to delete). Null does not limit:
-- ?4 unused, ?5 pattern of topics, ?6, ?7 created from and until, ?8 part of last_error. Index: _claim;
-- the deliveries' primary key.
SELECT m.seq FROM {{table}} AS m
WHERE processed_at IS NULL AND available_at BETWEEN ?2 AND ?3
  AND status = ?1 AND (status = 'dead' OR attempts > 0)
  AND (?5 IS NULL OR outbox_topic_matches(?5, topic)) AND (?6 IS NULL OR created_at >= ?6)
  AND (?7 IS NULL OR created_at < ?7)
  AND (?8 IS NULL OR coalesce(instr(last_error, ?8), 0) > 0)
  AND (NOT ?10 OR NOT EXISTS (
    SELECT 1 FROM {{delivery}} AS d
    WHERE d.seq = m.seq AND d.status = 'processing' AND d.locked_until > {{now}}))
ORDER BY m.available_at, m.seq
LIMIT ?9;
