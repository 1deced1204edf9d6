-- What evenly spaced pages of a table hold, to estimate counts that table_stats.sql stopped. Pages are
-- read as they are: neither statistics nor dead entries of an index come into it. The pages are the same
-- each time, so that they are in memory the second time.
--
-- $1 pages to read
-- $2, $3 from and until    the part of the table to look at, in pages; null: all of it
-- $4, $5 after             live rows up to this available_at and seq are left out: they were counted
--
-- Returns how many pages there are and how many were read; rows that are live (in four more cuts), dead
-- and delivered; and the first and the last page with a live one.
-- Index: none, by ctid. Needs PostgreSQL 14; before that every range of ctids reads the whole table.
WITH part AS (
  SELECT whole.first, whole.pages, least($1::bigint, whole.pages) AS wanted
  FROM (
    SELECT coalesce($2::bigint, 0) AS first,
      greatest(least(coalesce($3::bigint, size.pages), size.pages) - coalesce($2, 0), 0) AS pages
    FROM (SELECT pg_relation_size('{{table}}'::regclass)
            / current_setting('block_size')::bigint AS pages) AS size) AS whole
), page AS (
  SELECT part.first + (2 * n + 1) * part.pages / (2 * part.wanted) AS number
  FROM part CROSS JOIN generate_series(0, part.wanted - 1) AS n
), seen AS (
  SELECT page.number, r.status, r.attempts, r.available_at, r.locked_until, r.processed_at,
    r.processed_at IS NULL AND r.available_at < 'infinity'
      AND (r.available_at, r.seq) > ($4::timestamptz, $5::bigint) AS live
  FROM page
  -- OFFSET keeps the subquery apart: only there a range of ctids is not a join.
  CROSS JOIN LATERAL (
    SELECT m.status, m.attempts, m.available_at, m.locked_until, m.processed_at, m.seq
    FROM {{table}} AS m
    WHERE m.ctid >= format('(%s,0)', page.number)::tid
      AND m.ctid < format('(%s,0)', page.number + 1)::tid
    OFFSET 0) AS r
)
SELECT
  (SELECT part.pages FROM part),
  (SELECT part.wanted FROM part),
  count(*) FILTER (WHERE live AND status = 'pending'),
  count(*) FILTER (WHERE live AND status = 'pending' AND available_at <= now()),
  count(*) FILTER (WHERE live AND status = 'pending' AND attempts > 0),
  count(*) FILTER (WHERE live AND status = 'processing'),
  count(*) FILTER (WHERE live AND status = 'processing' AND locked_until < now()),
  count(*) FILTER (WHERE processed_at IS NULL AND available_at = 'infinity'),
  count(*) FILTER (WHERE processed_at IS NOT NULL),
  min(number) FILTER (WHERE live),
  max(number) FILTER (WHERE live)
FROM seen
