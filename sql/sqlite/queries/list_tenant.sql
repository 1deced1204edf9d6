-- A page of one tenant's messages, newest first.
-- ?1 unused, ?2 start after this seq, ?3 to ?13 and ?16 as in list_live.sql, ?6 is required, ?14 and ?15
-- whether what is not delivered, and what was, is wanted. Index: _tenant_live and _tenant_history,
-- merged.
SELECT seq, id, namespace, topic, event_type, event_version, aggregate_type, aggregate_id, key,
  tenant_id, dedupe_key, iif(?16, payload, NULL) AS payload, iif(?16, headers, NULL) AS headers,
  attempts, created_at, available_at,
  status, locked_by, locked_until, last_error, updated_at, processed_at,
  (?4 IS NULL OR status = ?4) AND (?5 IS NULL OR outbox_topic_matches(?5, topic))
    AND (?7 IS NULL OR key = ?7)
    AND (?10 IS NULL OR (attempts > 0) = ?10)
    AND (?11 IS NULL OR created_at >= ?11) AND (?12 IS NULL OR created_at < ?12)
    AND (?13 IS NULL OR coalesce(instr(last_error, ?13), 0) > 0) AS wanted
FROM {{table}}
WHERE ?14 AND tenant_id = ?6 AND processed_at IS NULL AND seq < ?2
UNION ALL
SELECT seq, id, namespace, topic, event_type, event_version, aggregate_type, aggregate_id, key,
  tenant_id, dedupe_key, iif(?16, payload, NULL) AS payload, iif(?16, headers, NULL) AS headers,
  attempts, created_at, available_at,
  status, locked_by, locked_until, last_error, updated_at, processed_at,
  (?4 IS NULL OR status = ?4) AND (?5 IS NULL OR outbox_topic_matches(?5, topic))
    AND (?7 IS NULL OR key = ?7)
    AND (?10 IS NULL OR (attempts > 0) = ?10)
    AND (?11 IS NULL OR created_at >= ?11) AND (?12 IS NULL OR created_at < ?12)
    AND (?13 IS NULL OR coalesce(instr(last_error, ?13), 0) > 0) AS wanted
FROM {{table}}
WHERE ?15 AND tenant_id = ?6 AND processed_at IS NOT NULL AND seq < ?2
ORDER BY seq DESC
LIMIT ?3;
