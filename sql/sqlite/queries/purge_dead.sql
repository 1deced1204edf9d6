-- Removes messages that died longer ago than their retention, oldest first. One that a sink is still to get
-- stays. ?1 retention in ms, ?2 limit. Index: _claim; the deliveries' primary key for each row.
DELETE FROM {{table}} WHERE seq IN (
  SELECT m.seq FROM {{table}} AS m
  WHERE m.processed_at IS NULL AND m.available_at = 9223372036854775807
    AND m.updated_at < {{now}} - ?1
    AND NOT EXISTS (
      SELECT 1 FROM {{delivery}} AS d
      WHERE d.seq = m.seq AND d.status IN ('pending', 'processing'))
  ORDER BY m.seq
  LIMIT ?2);
