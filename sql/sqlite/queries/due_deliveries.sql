-- The deliveries to one destination that are due, with the keys of those that have an order. Read until
-- there are enough, and without the write lock: what waits for an earlier one is in nobody's way.
-- ?1 destination, ?2, ?3 start after this (available_at, seq). Index: _delivery_claim.
SELECT seq, order_key, available_at FROM {{delivery}}
WHERE destination = ?1 AND processed_at IS NULL AND available_at <= {{now}}
  AND (available_at, seq) > (?2, ?3)
  AND (locked_until IS NULL OR locked_until <= {{now}})
ORDER BY available_at, seq;
