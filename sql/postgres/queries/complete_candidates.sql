-- Messages that were split and have no open delivery: completing them was cut off by a crash.
--
-- $1 limit
-- Index: NAME_claim, at the end of time; NAME_delivery_pkey.
SELECT id FROM {{table}} AS m
WHERE processed_at IS NULL AND available_at = '9999-12-31' AND locked_by = 'deliveries'
  AND NOT EXISTS (
    SELECT FROM {{delivery}} AS d WHERE d.id = m.id AND d.status IN ('pending', 'processing'))
LIMIT $1::bigint
