-- How many messages are dead. ?1 where to stop counting. Index: _claim.
SELECT count(*) FROM (
  SELECT 1 FROM {{table}}
  WHERE processed_at IS NULL AND available_at = 9223372036854775807 LIMIT ?1);
