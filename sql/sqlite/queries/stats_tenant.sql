-- Counts of one tenant's pending, processing and dead messages, and for how long, in ms, its oldest
-- has been due. ?1 tenant, ?2 where to stop counting. Index: _tenant_live.
SELECT count(*),
  total(status = 'pending'),
  total(status = 'pending' AND available_at <= {{now}}),
  total(status = 'pending' AND attempts > 0),
  total(status = 'processing'),
  total(status = 'processing' AND locked_until <= {{now}}),
  total(status = 'dead'),
  {{now}} - min(CASE WHEN available_at <= {{now}}
    AND (locked_until IS NULL OR locked_until <= {{now}}) THEN available_at END)
FROM (
  SELECT status, attempts, available_at, locked_until FROM {{table}}
  WHERE tenant_id = ?1 AND processed_at IS NULL
  ORDER BY seq DESC
  LIMIT ?2);
