-- Removes delivered messages past their retention, oldest first. ?1 retention in ms, ?2 limit.
-- Index: _processed.
DELETE FROM {{table}} WHERE seq IN (
  SELECT seq FROM {{table}}
  WHERE processed_at IS NOT NULL AND processed_at < {{now}} - ?1
  ORDER BY processed_at
  LIMIT ?2);
