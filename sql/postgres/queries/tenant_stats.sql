-- What a table holds of one tenant's. Counts stop at a limit, so that the time this takes is bounded.
--
-- $1 tenant
-- $2 limit of the count of what is not delivered: these rows are read
-- $3 limit of the count of what was: of these only index entries (null: count them all)
-- Index: NAME_tenant_live; NAME_tenant_history, alone.
WITH live AS (
  SELECT status, attempts, available_at, locked_until FROM {{table}}
  WHERE tenant_id = $1::uuid AND processed_at IS NULL
  ORDER BY seq DESC LIMIT $2::bigint
), delivered AS (
  SELECT FROM {{table}} WHERE tenant_id = $1 AND processed_at IS NOT NULL LIMIT $3::bigint
)
SELECT
  count(*) FILTER (WHERE status = 'pending'),
  count(*) FILTER (WHERE status = 'pending' AND available_at <= now()),
  count(*) FILTER (WHERE status = 'pending' AND attempts > 0),
  count(*) FILTER (WHERE status = 'processing'),
  count(*) FILTER (WHERE status = 'processing' AND locked_until < now()),
  count(*),
  count(*) FILTER (WHERE status = 'dead'),
  (SELECT count(*) FROM delivered),
  (extract(epoch FROM now() - min(greatest(available_at, timestamptz '0001-01-01 00:00:00+00'))
    FILTER (WHERE available_at <= now() AND (locked_until IS NULL OR locked_until < now()))) * 1000)::bigint
FROM live
