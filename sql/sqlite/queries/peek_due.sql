-- One row when a claim would find something. Read without the write lock, so that an idle relay
-- does not get into the producers' way.
-- ?1 namespace or NULL, ?2 tenant or NULL, ?3 whether the store's topic patterns apply.
-- Index: _claim.
SELECT 1 FROM {{table}}
WHERE processed_at IS NULL AND available_at <= {{now}}
  AND (locked_until IS NULL OR locked_until <= {{now}})
  AND (?1 IS NULL OR namespace = ?1)
  AND (?2 IS NULL OR tenant_id = ?2)
  AND (NOT ?3 OR outbox_topic_wanted(topic))
LIMIT 1;
