-- The destinations that have open deliveries, found by hopping from one to the next.
-- Index: _delivery_claim.
WITH RECURSIVE waiting (destination) AS (
  SELECT min(destination) FROM {{delivery}}
  WHERE processed_at IS NULL AND available_at < 9223372036854775807
  UNION ALL
  SELECT (SELECT min(d.destination) FROM {{delivery}} AS d
          WHERE d.processed_at IS NULL AND d.available_at < 9223372036854775807
            AND d.destination > waiting.destination)
  FROM waiting WHERE waiting.destination IS NOT NULL
)
SELECT destination FROM waiting WHERE destination IS NOT NULL;
