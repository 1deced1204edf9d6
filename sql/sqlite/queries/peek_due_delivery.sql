-- One row when a claim of deliveries might find something. ?1 destination. Index: _delivery_claim.
SELECT 1 FROM {{delivery}}
WHERE destination = ?1 AND processed_at IS NULL AND available_at <= {{now}}
  AND (locked_until IS NULL OR locked_until <= {{now}})
LIMIT 1;
