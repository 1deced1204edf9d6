-- Completes a message whose deliveries are decided, or with `any` one that has a success.
-- ?1 seq, ?2 whether one success is enough. Index: the primary keys.
WITH state AS (
  SELECT sum(status IN ('pending', 'processing')) AS open, sum(status = 'delivered') AS delivered,
    sum(status = 'dead') AS dead,
    group_concat(CASE status WHEN 'dead' THEN destination || ': ' || last_error END, '; ') AS error
  FROM {{delivery}} WHERE seq = ?1
)
UPDATE {{table}}
SET status = CASE WHEN success THEN 'delivered' ELSE 'dead' END,
    available_at = CASE WHEN success THEN available_at ELSE 9223372036854775807 END,
    processed_at = CASE WHEN success THEN {{now}} END,
    locked_by = NULL,
    last_error = CASE WHEN success THEN NULL ELSE substr(error, 1, 2048) END,
    updated_at = {{now}}
FROM (SELECT open, delivered, error, delivered > 0 AND (?2 OR dead = 0) AS success FROM state)
WHERE seq = ?1 AND locked_by = 'deliveries' AND (open = 0 OR (?2 AND delivered > 0));
