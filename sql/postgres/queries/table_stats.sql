-- What a table holds. Counts stop at a limit, so that the time this takes is bounded.
--
-- $1 limit of the counts of live and of dead rows, $2 of delivered ones; null: count them all
--
-- A message that was split is never due itself: its deliveries are, counted up to 1,000 for each
-- destination. Destinations are found by hopping from one to the next. Were it more, the planner would
-- take the whole for so dear that compiling it takes longer than running it.
--
-- Index: NAME_claim for the live and the dead, NAME_processed for the delivered, NAME_delivery_claim.
WITH RECURSIVE live AS (
  SELECT status, attempts, available_at, locked_until FROM {{table}}
  WHERE processed_at IS NULL AND available_at < 'infinity'
  ORDER BY available_at, seq LIMIT $1::bigint
), dead AS (
  SELECT FROM {{table}} WHERE processed_at IS NULL AND available_at = 'infinity' LIMIT $1
), delivered AS (
  SELECT FROM {{table}} WHERE processed_at IS NOT NULL LIMIT $2::bigint
), waiting (destination) AS (
  SELECT min(destination) FROM {{delivery}} WHERE processed_at IS NULL
  UNION ALL
  SELECT (SELECT min(d.destination) FROM {{delivery}} AS d
          WHERE d.processed_at IS NULL AND d.destination > waiting.destination)
  FROM waiting WHERE waiting.destination IS NOT NULL
), due AS (
  SELECT d.pending, d.oldest FROM waiting
  CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE f.status = 'pending') AS pending, min(f.available_at) AS oldest
    FROM (
      SELECT status, available_at FROM {{delivery}}
      WHERE destination = waiting.destination AND processed_at IS NULL AND available_at <= now()
      ORDER BY available_at, seq LIMIT CASE WHEN $1 IS NOT NULL THEN 1000 END) AS f) AS d
)
SELECT
  count(*) FILTER (WHERE status = 'pending'),
  count(*) FILTER (WHERE status = 'pending' AND available_at <= now())
    + (SELECT coalesce(sum(pending), 0)::bigint FROM due),
  count(*) FILTER (WHERE status = 'pending' AND attempts > 0),
  count(*) FILTER (WHERE status = 'processing'),
  count(*) FILTER (WHERE status = 'processing' AND locked_until < now()),
  count(*),
  (SELECT count(*) FROM dead),
  (SELECT count(*) FROM delivered),
  (SELECT greatest(reltuples, 0)::bigint FROM pg_catalog.pg_class
   WHERE oid = '{{table}}'::regclass),
  (extract(epoch FROM now() - least(
    min(available_at) FILTER (WHERE available_at <= now()),
    (SELECT min(oldest) FROM due))) * 1000)::bigint
FROM live
