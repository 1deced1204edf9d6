-- Messages that were split and have no open delivery. ?1 limit. Index: _claim, the primary key.
SELECT seq FROM {{table}} AS m
WHERE processed_at IS NULL AND available_at = 9223372036854775806 AND NOT EXISTS (
  SELECT 1 FROM {{delivery}} AS d
  WHERE d.seq = m.seq AND d.status IN ('pending', 'processing'))
LIMIT ?1;
