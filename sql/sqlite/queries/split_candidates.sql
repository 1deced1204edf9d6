-- The next messages to be leased in their own rows or split into deliveries.
-- ?1 limit, ?2 namespace or NULL, ?3 tenant or NULL, ?4 whether the store's topic patterns apply.
-- Index: _claim; the deliveries' primary key for each row.
SELECT seq, topic, key, attempts,
  CASE status WHEN 'processing' THEN
      'no outcome: attempt ' || attempts || ' was cut off (its relay crashed or lost its lease)'
    ELSE last_error END,
  EXISTS (SELECT 1 FROM {{delivery}} AS d WHERE d.seq = m.seq), status = 'processing',
  status = 'processing' OR in_doubt
FROM {{table}} AS m
WHERE processed_at IS NULL AND available_at <= {{now}}
  AND (locked_until IS NULL OR locked_until <= {{now}})
  AND (?2 IS NULL OR namespace = ?2)
  AND (?3 IS NULL OR tenant_id = ?3)
  AND (NOT ?4 OR outbox_topic_wanted(topic))
ORDER BY available_at, seq
LIMIT ?1;
