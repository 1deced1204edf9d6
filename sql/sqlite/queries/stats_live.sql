-- Counts of pending and processing messages. ?1 where to stop counting. Index: _claim.
SELECT count(*),
  total(status = 'pending'),
  total(status = 'pending' AND available_at <= {{now}}),
  total(status = 'pending' AND attempts > 0),
  total(status = 'processing'),
  total(status = 'processing' AND locked_until <= {{now}})
FROM (
  SELECT status, attempts, available_at, locked_until FROM {{table}}
  WHERE processed_at IS NULL AND available_at < 9223372036854775807
  ORDER BY available_at, seq
  LIMIT ?1);
