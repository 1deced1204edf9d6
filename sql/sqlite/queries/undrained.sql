-- One row when a message is left that is due, leased or waiting for a retry; delayed messages that
-- were never tried and dead ones do not count.
-- ?1 namespace or NULL, ?2 tenant or NULL, ?3 whether the store's topic patterns apply.
-- Index: _claim.
SELECT 1 FROM {{table}}
WHERE processed_at IS NULL AND available_at < 9223372036854775807
  AND (available_at <= {{now}} OR attempts > 0 OR status = 'processing')
  AND (?1 IS NULL OR namespace = ?1)
  AND (?2 IS NULL OR tenant_id = ?2)
  AND (NOT ?3 OR outbox_topic_wanted(topic))
LIMIT 1;
