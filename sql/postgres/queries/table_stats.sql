-- What a table holds, counted up to a limit, so that the time this takes is bounded. Where a count
-- stopped there, sample_pages.sql estimates it.
--
-- $1 limit of the counts of live and of dead rows, $2 of delivered ones; null: count them all
--
-- The oldest that is due is one that could be claimed now: a row with a lease is not waiting.
-- The last columns are where the count of live rows stopped, and the version of the server.
--
-- A message that was split is never due itself: its deliveries are, counted up to 1,000 for each
-- destination. Destinations are found by hopping from one to the next.
--
-- Index: NAME_claim for the live and the dead, NAME_processed for the delivered, NAME_delivery_claim.
WITH RECURSIVE live AS (
  SELECT status, attempts, available_at, locked_until, seq FROM {{table}}
  WHERE processed_at IS NULL AND available_at < 'infinity'
  ORDER BY available_at, seq LIMIT $1::bigint
), last AS (
  SELECT available_at, seq FROM live ORDER BY available_at DESC, seq DESC LIMIT 1
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
  SELECT d.pending, (
    SELECT available_at FROM {{delivery}}
    WHERE destination = waiting.destination AND processed_at IS NULL AND available_at <= now()
      AND (locked_until IS NULL OR locked_until < now())
    ORDER BY available_at, seq LIMIT 1) AS oldest
  FROM waiting
  CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE f.status = 'pending') AS pending
    FROM (
      SELECT status FROM {{delivery}}
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
  (extract(epoch FROM now() - least(
    coalesce(
      min(greatest(available_at, timestamptz '0001-01-01 00:00:00+00')) FILTER (
        WHERE available_at <= now() AND (locked_until IS NULL OR locked_until < now())),
      -- All that were counted are leased: the next that is not.
      (SELECT greatest(m.available_at, timestamptz '0001-01-01 00:00:00+00') FROM {{table}} AS m
       WHERE m.processed_at IS NULL AND m.available_at <= now()
         AND (m.available_at, m.seq) > ((SELECT l.available_at FROM last AS l), (SELECT l.seq FROM last AS l))
         AND (m.locked_until IS NULL OR m.locked_until < now())
       ORDER BY m.available_at, m.seq LIMIT 1)),
    (SELECT min(greatest(oldest, timestamptz '0001-01-01 00:00:00+00')) FROM due
     WHERE oldest IS NOT NULL))) * 1000)::bigint,
  (SELECT l.available_at FROM last AS l),
  (SELECT l.seq FROM last AS l),
  current_setting('server_version_num')::integer
FROM live
