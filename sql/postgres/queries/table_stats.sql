-- What a table holds. Counts stop at a limit, so that the time this takes is bounded.
--
-- $1 limit of the counts of live and of dead rows, $2 of delivered ones; null: count them all
-- Index: NAME_claim for the live and the dead, NAME_processed for the delivered.
WITH live AS (
  SELECT status, attempts, available_at, locked_until FROM {{table}}
  WHERE processed_at IS NULL AND available_at < 'infinity'
  ORDER BY available_at, seq LIMIT $1::bigint
), dead AS (
  SELECT FROM {{table}} WHERE processed_at IS NULL AND available_at = 'infinity' LIMIT $1
), delivered AS (
  SELECT FROM {{table}} WHERE processed_at IS NOT NULL LIMIT $2::bigint
)
SELECT
  count(*) FILTER (WHERE status = 'pending'),
  count(*) FILTER (WHERE status = 'pending' AND available_at <= now()),
  count(*) FILTER (WHERE status = 'pending' AND attempts > 0),
  count(*) FILTER (WHERE status = 'processing'),
  count(*) FILTER (WHERE status = 'processing' AND locked_until < now()),
  count(*),
  (SELECT count(*) FROM dead),
  (SELECT count(*) FROM delivered),
  (SELECT greatest(reltuples, 0)::bigint FROM pg_catalog.pg_class
   WHERE oid = '{{table}}'::regclass),
  (extract(epoch FROM now() - min(available_at) FILTER (WHERE available_at <= now())) * 1000)::bigint
FROM live
