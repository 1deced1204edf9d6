-- sample_pages.sql for PostgreSQL 13, which can not read a range of ctids: pages by chance, the same ones
-- each time, of the whole table.
--
-- $1 pages to read, $2, $3 not looked at, $4, $5 as in sample_pages.sql; the same columns
-- Index: none.
WITH seen AS (
  SELECT status, attempts, available_at, locked_until, processed_at,
    processed_at IS NULL AND available_at < 'infinity'
      AND (available_at, seq) > ($4::timestamptz, $5::bigint) AS live
  FROM {{table}} TABLESAMPLE SYSTEM (
    least(100, 100.0 * $1::bigint / greatest(1, pg_relation_size('{{table}}'::regclass)
      / current_setting('block_size')::bigint))) REPEATABLE (0)
)
SELECT
  pg_relation_size('{{table}}'::regclass) / current_setting('block_size')::bigint,
  least($1, pg_relation_size('{{table}}'::regclass) / current_setting('block_size')::bigint),
  count(*) FILTER (WHERE live AND status = 'pending'),
  count(*) FILTER (WHERE live AND status = 'pending' AND available_at <= now()),
  count(*) FILTER (WHERE live AND status = 'pending' AND attempts > 0),
  count(*) FILTER (WHERE live AND status = 'processing'),
  count(*) FILTER (WHERE live AND status = 'processing' AND locked_until < now()),
  count(*) FILTER (WHERE processed_at IS NULL AND available_at = 'infinity'),
  count(*) FILTER (WHERE processed_at IS NOT NULL),
  $2::bigint,
  $3::bigint
FROM seen
