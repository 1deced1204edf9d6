-- Leases the next due deliveries to one destination: pending ones and those whose lease has expired.
-- ?1 lease token, ?2 lease in ms, ?3 limit, ?4 destination.
-- Index: _delivery_claim; _delivery_order for each row with an order; the primary key. No column of
-- those is set, so that leasing rewrites no index entry.
UPDATE {{delivery}}
SET status = 'processing', attempts = attempts + 1, locked_by = ?1, locked_until = {{now}} + ?2,
    updated_at = {{now}},
    last_error = CASE status WHEN 'processing' THEN
        'no outcome: attempt ' || attempts || ' was cut off (its relay crashed or lost its lease)'
      ELSE last_error END
WHERE destination = ?4 AND seq IN (
  SELECT w.seq FROM {{delivery}} AS w
  WHERE w.destination = ?4 AND w.processed_at IS NULL AND w.available_at <= {{now}}
    AND (w.locked_until IS NULL OR w.locked_until <= {{now}})
    AND (w.order_key IS NULL OR NOT EXISTS (
      SELECT 1 FROM {{delivery}} AS e
      WHERE e.destination = w.destination AND e.order_key = w.order_key AND e.seq < w.seq
        AND e.processed_at IS NULL AND e.order_key IS NOT NULL
        AND (e.status <> 'dead' OR e.order_waits)))
  ORDER BY w.available_at, w.seq
  LIMIT ?3);
