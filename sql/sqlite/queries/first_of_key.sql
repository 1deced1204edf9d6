-- The delivery to one destination that goes first of those with one key, and whether it can be claimed.
-- ?1 destination, ?2 order key. Index: _delivery_order.
SELECT seq, available_at <= {{now}} AND (locked_until IS NULL OR locked_until <= {{now}}) FROM {{delivery}}
WHERE destination = ?1 AND order_key = ?2 AND processed_at IS NULL AND order_key IS NOT NULL
  AND (status <> 'dead' OR order_waits)
ORDER BY seq
LIMIT 1;
