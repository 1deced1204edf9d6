-- One row when a delivery to a destination is left that is due, leased or waiting for a retry, or a
-- message that has yet to be split. ?1 destination. Index: _delivery_claim and _claim.
SELECT 1 FROM (
  SELECT 1 FROM {{delivery}}
  WHERE destination = ?1 AND processed_at IS NULL AND available_at < 9223372036854775807
  LIMIT 1)
UNION ALL
SELECT 1 FROM (
  SELECT 1 FROM {{table}}
  WHERE processed_at IS NULL AND available_at < 9223372036854775806
    AND (available_at <= {{now}} OR attempts > 0)
  LIMIT 1);
