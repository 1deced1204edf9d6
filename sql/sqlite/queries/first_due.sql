-- The message that a claim of one would lease: who is refused alone.
-- ?1 namespace or NULL, ?2 tenant or NULL, ?3 whether the store's topic patterns apply,
-- ?4 seqs of rows that refuse to be leased, as a JSON array, or NULL. Index: _claim.
SELECT seq, id FROM {{table}}
WHERE processed_at IS NULL AND available_at <= {{now}}
  AND (locked_until IS NULL OR locked_until <= {{now}})
  AND (?1 IS NULL OR namespace = ?1)
  AND (?2 IS NULL OR tenant_id = ?2)
  AND (NOT ?3 OR outbox_topic_wanted(topic))
  AND (?4 IS NULL OR seq NOT IN (SELECT value FROM json_each(?4)))
ORDER BY available_at, seq
LIMIT 1;
