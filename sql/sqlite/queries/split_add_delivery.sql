-- Adds one delivery of a message that is being split. A message that is retried has its deliveries
-- already: one that is dead starts anew, one that succeeded is left alone.
-- ?1 seq, ?2 destination, ?3 order key or NULL, ?4 order_waits. Index: the primary key.
INSERT INTO {{delivery}} (seq, destination, order_key, order_waits) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (seq, destination) DO UPDATE SET
  status = 'pending', attempts = 0, available_at = {{now}}, updated_at = {{now}}
WHERE status = 'dead';
