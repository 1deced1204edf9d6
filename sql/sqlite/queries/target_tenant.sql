-- The rows of a repair in one tenant's scope: ?1 status (failed ones are pending), ?4 tenant, the rest
-- as in target_filtered.sql; oldest first. Index: _tenant_live.
SELECT seq FROM {{table}}
WHERE tenant_id = ?4 AND processed_at IS NULL
  AND status = ?1 AND (status = 'dead' OR attempts > 0)
  AND (?5 IS NULL OR outbox_topic_matches(?5, topic)) AND (?6 IS NULL OR created_at >= ?6)
  AND (?7 IS NULL OR created_at < ?7)
  AND (?8 IS NULL OR coalesce(instr(last_error, ?8), 0) > 0)
ORDER BY seq
LIMIT ?9;
