-- The rows of a repair in one tenant's scope: ?1 status (failed ones are pending), ?4 tenant, the rest
-- as in target_filtered.sql; oldest first. Index: _tenant_live.
SELECT m.seq FROM {{table}} AS m
WHERE tenant_id = ?4 AND processed_at IS NULL
  AND status = ?1 AND (status = 'dead' OR attempts > 0)
  AND (?5 IS NULL OR outbox_topic_matches(?5, topic)) AND (?6 IS NULL OR created_at >= ?6)
  AND (?7 IS NULL OR created_at < ?7)
  AND (?8 IS NULL OR coalesce(instr(last_error, ?8), 0) > 0)
  AND (NOT ?10 OR NOT EXISTS (
    SELECT 1 FROM {{delivery}} AS d
    WHERE d.seq = m.seq AND d.status = 'processing' AND d.locked_until > {{now}}))
ORDER BY m.seq
LIMIT ?9;
