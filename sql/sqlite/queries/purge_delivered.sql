-- Removes delivered messages past their retention, oldest first. One that other sinks are still to get
-- stays: it was delivered with its first success.
-- ?1 retention in ms, ?2 limit, ?3 processed_at before which an earlier call of the same round found nothing.
-- Index: _processed; the deliveries' primary key for each row.
DELETE FROM {{table}} WHERE seq IN (
  SELECT m.seq FROM {{table}} AS m
  WHERE m.processed_at IS NOT NULL AND m.processed_at >= ?3 AND m.processed_at < {{now}} - ?1
    AND NOT EXISTS (
      SELECT 1 FROM {{delivery}} AS d
      WHERE d.seq = m.seq AND d.status IN ('pending', 'processing'))
  ORDER BY m.processed_at
  LIMIT ?2)
RETURNING processed_at;
