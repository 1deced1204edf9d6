-- A page of the backlog and the dead, next due first (dead ones last, oldest first).
-- ?1, ?2 start after this (available_at, seq), ?3 rows to look at. Null does not limit: ?4 status,
-- ?5 pattern of topics, ?6 tenant, ?7 key, ?10 attempts > 0, ?11, ?12 created from and until, ?13 part
-- of last_error. ?16 payload and headers too. Rows that do not match have wanted = 0: so the work of a
-- call is bounded by ?3.
-- Index: _claim.
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
WHERE processed_at IS NULL AND (available_at, seq) > (?1, ?2)
ORDER BY available_at, seq
LIMIT ?3;
