-- The destinations that have open deliveries, found by hopping from one to the next.
-- Index: NAME_delivery_claim.
WITH RECURSIVE waiting AS (
  (SELECT destination FROM {{delivery}} WHERE processed_at IS NULL AND available_at < 'infinity'
   ORDER BY destination LIMIT 1)
  UNION ALL
  SELECT (SELECT d.destination FROM {{delivery}} AS d
          WHERE d.processed_at IS NULL AND d.available_at < 'infinity'
            AND d.destination > w.destination
          ORDER BY d.destination LIMIT 1)
  FROM waiting AS w WHERE w.destination IS NOT NULL
)
SELECT destination FROM waiting WHERE destination IS NOT NULL
