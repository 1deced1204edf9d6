-- Removes a message that was delivered and has no delivery open, where such rows are not kept.
-- ?1 seq. Index: the primary keys.
DELETE FROM {{table}}
WHERE seq = ?1 AND status = 'delivered' AND NOT EXISTS (
  SELECT 1 FROM {{delivery}} AS d
  WHERE d.seq = ?1 AND d.status IN ('pending', 'processing'));
