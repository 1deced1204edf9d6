-- A page of the backlog and the dead, next due first (dead ones last, oldest first).
-- ?1, ?2 start after this (available_at, seq), ?3 rows to look at, ?4 status or NULL, ?5 topic or
-- NULL, ?6 tenant or NULL, ?7 key or NULL. Rows that do not match have wanted = 0: so the work of
-- a call is bounded by ?3. Index: _claim.
SELECT seq, id, namespace, topic, event_type, event_version, aggregate_type, aggregate_id, key,
  tenant_id, dedupe_key, NULL AS payload, NULL AS headers, attempts, created_at, available_at,
  status, locked_by, locked_until, last_error, updated_at, processed_at,
  (?4 IS NULL OR status = ?4) AND (?5 IS NULL OR topic = ?5)
    AND (?6 IS NULL OR tenant_id = ?6) AND (?7 IS NULL OR key = ?7) AS wanted
FROM {{table}}
WHERE processed_at IS NULL AND (available_at, seq) > (?1, ?2)
ORDER BY available_at, seq
LIMIT ?3;
