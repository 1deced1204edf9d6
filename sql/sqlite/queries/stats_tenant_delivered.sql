-- How many of one tenant's delivered messages are kept. ?1 tenant, ?2 where to stop counting.
-- Index: _tenant_history, alone.
SELECT count(*) FROM (
  SELECT 1 FROM {{table}} WHERE tenant_id = ?1 AND processed_at IS NOT NULL LIMIT ?2);
