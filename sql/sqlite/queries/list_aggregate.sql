-- A page of the history of one aggregate, newest first.
-- ?1 unused, ?2 start after this seq, ?3 to ?13 and ?16 as in list_live.sql, ?8 aggregate_type,
-- ?9 aggregate_id. Index: _aggregate.
SELECT seq, id, namespace, topic, event_type, event_version, aggregate_type, aggregate_id, key,
  tenant_id, dedupe_key, iif(?16, payload, NULL) AS payload, iif(?16, headers, NULL) AS headers,
  attempts, created_at, available_at,
  status, locked_by, locked_until, last_error, updated_at, processed_at,
  (?4 IS NULL OR status = ?4) AND (?5 IS NULL OR outbox_topic_matches(?5, topic))
    AND (?7 IS NULL OR key = ?7)
    AND (?6 IS NULL OR tenant_id = ?6)
    AND (?10 IS NULL OR (attempts > 0) = ?10)
    AND (?11 IS NULL OR created_at >= ?11) AND (?12 IS NULL OR created_at < ?12)
    AND (?13 IS NULL OR coalesce(instr(last_error, ?13), 0) > 0) AS wanted
FROM {{table}}
WHERE aggregate_type = ?8 AND aggregate_id = ?9 AND seq < ?2
ORDER BY seq DESC
LIMIT ?3;
