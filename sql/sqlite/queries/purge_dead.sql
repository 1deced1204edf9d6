-- Removes messages that died longer ago than their retention, oldest first. ?1 retention in ms,
-- ?2 limit. Index: _claim.
DELETE FROM {{table}} WHERE seq IN (
  SELECT seq FROM {{table}}
  WHERE processed_at IS NULL AND available_at = 9223372036854775807 AND updated_at < {{now}} - ?1
  ORDER BY seq
  LIMIT ?2);
