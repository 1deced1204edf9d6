-- Leases deliveries to one destination that were found to be due: pending ones and those whose lease
-- has expired. Those that somebody else took meanwhile are left out.
-- ?1 lease token, ?2 lease in ms, ?3 seqs as a JSON array, ?4 destination.
-- Index: the primary key; _delivery_order for each row with an order. No column of an index is set, so
-- that leasing rewrites no index entry. The plus signs keep the planner off _delivery_claim.
UPDATE {{delivery}} AS w
SET status = 'processing', attempts = max(min(attempts, 2147483646), 0) + 1, locked_by = ?1,
    locked_until = {{now}} + ?2, updated_at = {{now}},
    last_error = CASE status WHEN 'processing' THEN
        'no outcome: attempt ' || attempts || ' was cut off (its relay crashed or lost its lease)'
      ELSE last_error END,
    in_doubt = in_doubt OR status = 'processing'
WHERE seq IN (SELECT value FROM json_each(?3)) AND destination = ?4
  AND +processed_at IS NULL AND +available_at <= {{now}}
  AND (locked_until IS NULL OR locked_until <= {{now}})
  AND (order_key IS NULL OR NOT EXISTS (
    SELECT 1 FROM {{delivery}} AS e
    WHERE e.destination = w.destination AND e.order_key = w.order_key AND e.seq < w.seq
      AND e.processed_at IS NULL AND e.order_key IS NOT NULL
      AND (e.status <> 'dead' OR e.order_waits)))
RETURNING seq;
