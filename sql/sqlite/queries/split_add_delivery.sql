-- Adds one delivery of a message that is being split. A message that is retried has its deliveries
-- already: one that is dead starts anew, one that succeeded is left alone. A message that was tried in
-- its own row hands its attempts on.
-- ?1 seq, ?2 destination, ?3 order key or NULL, ?4 order_waits, ?5 attempts, ?6 last error or NULL,
-- ?7 in doubt.
-- Index: the primary key.
INSERT INTO {{delivery}} (seq, destination, order_key, order_waits, attempts, last_error, in_doubt)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (seq, destination) DO UPDATE SET
  status = 'pending', attempts = 0, in_doubt = 0, available_at = {{now}}, updated_at = {{now}},
  order_key = excluded.order_key, order_waits = excluded.order_waits
WHERE status = 'dead';
