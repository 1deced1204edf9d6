-- What evenly spaced runs of sequence numbers hold, to estimate counts that stopped at their limit.
-- ?1 runs, ?2 numbers in a run, ?3 first number, ?4 how many numbers there are from it on; at least ?1 * ?2
-- ?5, ?6 available_at and seq: live rows up to there were counted, and are left out
-- Index: the primary key.
WITH RECURSIVE run (n) AS (
  SELECT 0 UNION ALL SELECT n + 1 FROM run WHERE n + 1 < ?1
), seen AS (
  SELECT m.seq, m.status, m.attempts, m.available_at, m.locked_until, m.processed_at,
    m.processed_at IS NULL AND m.available_at < 9223372036854775807
      AND (m.available_at, m.seq) > (?5, ?6) AS live
  FROM run CROSS JOIN {{table}} AS m
  WHERE m.seq >= ?3 + n * (?4 / ?1) AND m.seq < ?3 + n * (?4 / ?1) + ?2
)
SELECT
  total(live AND status = 'pending'),
  total(live AND status = 'pending' AND available_at <= {{now}}),
  total(live AND status = 'pending' AND attempts > 0),
  total(live AND status = 'processing'),
  total(live AND status = 'processing' AND locked_until <= {{now}}),
  total(processed_at IS NULL AND available_at = 9223372036854775807),
  total(processed_at IS NOT NULL),
  min(CASE WHEN live THEN seq END),
  max(CASE WHEN live THEN seq END)
FROM seen;
