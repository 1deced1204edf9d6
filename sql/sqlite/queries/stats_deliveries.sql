-- How many deliveries of messages that were split are due, and for how long, in ms, the oldest that
-- nobody leased has been.
-- ?1 where to stop counting, for each destination; destinations are found by hopping from one to the next.
-- Index: _delivery_claim.
WITH RECURSIVE waiting (destination) AS (
  SELECT min(destination) FROM {{delivery}} WHERE processed_at IS NULL
  UNION ALL
  SELECT (SELECT min(d.destination) FROM {{delivery}} AS d
          WHERE d.processed_at IS NULL AND d.destination > waiting.destination)
  FROM waiting WHERE waiting.destination IS NOT NULL
)
SELECT
  total((SELECT count(*) FROM (
    SELECT status FROM {{delivery}} AS d
    WHERE d.destination = waiting.destination AND d.processed_at IS NULL AND d.available_at <= {{now}}
    ORDER BY d.available_at, d.seq
    LIMIT ?1) WHERE status = 'pending')),
  {{now}} - min((
    SELECT d.available_at FROM {{delivery}} AS d
    WHERE d.destination = waiting.destination AND d.processed_at IS NULL AND d.available_at <= {{now}}
      AND (d.locked_until IS NULL OR d.locked_until <= {{now}})
    ORDER BY d.available_at, d.seq
    LIMIT 1))
FROM waiting WHERE destination IS NOT NULL;
