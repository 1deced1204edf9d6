-- Leases the next due messages: pending ones and those whose lease has expired.
-- ?1 lease token, ?2 lease in ms, ?3 limit, ?4 namespace or NULL, ?5 tenant or NULL,
-- ?6 whether the store's topic patterns apply (the function knows them),
-- ?7 seqs of rows that refuse to be leased, as a JSON array, or NULL.
-- Index: _claim. No column of that index is set, so that leasing rewrites no index entry.
UPDATE {{table}}
SET status = 'processing', attempts = max(min(attempts, 2147483646), 0) + 1, locked_by = ?1,
    locked_until = {{now}} + ?2, updated_at = {{now}},
    last_error = CASE status WHEN 'processing' THEN
        'no outcome: attempt ' || attempts || ' was cut off (its relay crashed or lost its lease)'
      ELSE last_error END,
    in_doubt = in_doubt OR status = 'processing'
WHERE seq IN (
  SELECT seq FROM {{table}}
  WHERE processed_at IS NULL AND available_at <= {{now}}
    AND (locked_until IS NULL OR locked_until <= {{now}})
    AND (?4 IS NULL OR namespace = ?4)
    AND (?5 IS NULL OR tenant_id = ?5)
    AND (NOT ?6 OR outbox_topic_wanted(topic))
    AND (?7 IS NULL OR seq NOT IN (SELECT value FROM json_each(?7)))
  ORDER BY available_at, seq
  LIMIT ?3)
RETURNING seq, id, namespace, topic, event_type, event_version, aggregate_type, aggregate_id, key,
  tenant_id, dedupe_key, payload, headers, attempts, created_at, available_at,
  in_doubt;
