-- A page of the messages that were split, and which of them should be complete.
-- ?1 seq after which to look, ?2 limit, ?3 whether one success is enough, though others are open.
-- Index: _claim; the deliveries' primary key for each row.
SELECT m.seq, m.locked_by = 'deliveries' AND (
  NOT EXISTS (
    SELECT 1 FROM {{delivery}} AS d
    WHERE d.seq = m.seq AND d.status IN ('pending', 'processing'))
  OR (?3 AND EXISTS (
    SELECT 1 FROM {{delivery}} AS d WHERE d.seq = m.seq AND d.status = 'delivered')))
FROM {{table}} AS m
WHERE m.processed_at IS NULL AND m.available_at = 9223372036854775806 AND m.seq > ?1
ORDER BY m.available_at, m.seq
LIMIT ?2;
