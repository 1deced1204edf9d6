-- Completes a message whose deliveries are decided, or with `any` one that has a success.
-- Its attempts become the most that one of the deliveries took. One whose deliveries somebody deleted is
-- dead.
-- ?1 seq, ?2 whether one success is enough, ?3 how many bytes last_error may have; a character has one
-- to four. Index: the primary keys.
WITH state AS (
  SELECT count(*) FILTER (WHERE status IN ('pending', 'processing')) AS open,
    count(*) FILTER (WHERE status = 'delivered') AS delivered,
    count(*) FILTER (WHERE status = 'dead') AS dead, coalesce(max(attempts), 0) AS most,
    group_concat(CASE status WHEN 'dead' THEN destination || ': ' || last_error END, '; ') AS error
  FROM {{delivery}} WHERE seq = ?1
)
UPDATE {{table}}
SET status = CASE WHEN success THEN 'delivered' ELSE 'dead' END,
    available_at = CASE WHEN success THEN available_at ELSE 9223372036854775807 END,
    processed_at = CASE WHEN success THEN {{now}} END,
    locked_by = NULL,
    attempts = most,
    last_error = CASE WHEN NOT success
      THEN substr(error, 1, max(2 * ?3 - length(CAST(substr(error, 1, ?3) AS BLOB)), ?3 / 4)) END,
    updated_at = {{now}}
FROM (SELECT open, delivered, most, coalesce(error, 'no deliveries are left') AS error,
    delivered > 0 AND (?2 OR dead = 0) AS success FROM state)
WHERE seq = ?1 AND locked_by = 'deliveries' AND (open = 0 OR (?2 AND delivered > 0));
