-- Makes the failed or the dead that a filter takes pending again: attempts start anew, available now. With
-- the dead go messages that are under way, or delivered, though a delivery of theirs is dead.
--
-- $1 dead             true: the dead, oldest first, then dead deliveries, sink by sink; false: the failed,
--                     next due first
-- $2 limit, $3 dry_run: true only counts
-- $4 tenant, $5 regular expression of topics, $6, $7 created from and until, $8 part of last_error
--   (of a delivery after its sink's name, as in that of a dead message): null does not limit
--
-- Index: NAME_claim, or NAME_tenant_live; NAME_delivery_claim, hopping from sink to sink, then NAME_pkey
-- and NAME_delivery_pkey for each dead delivery; then by ctid.
-- Rows that somebody holds are skipped.
WITH RECURSIVE target AS MATERIALIZED (
  SELECT ctid FROM {{table}}
  WHERE processed_at IS NULL
    AND status = CASE WHEN $1::boolean THEN 'dead' ELSE 'pending' END AND ($1 OR attempts > 0)
    AND available_at >= CASE WHEN $1 THEN 'infinity' ELSE '-infinity' END::timestamptz
    AND available_at <= CASE WHEN $1 THEN 'infinity' ELSE '294276-12-31' END::timestamptz
    AND ($4::uuid IS NULL OR tenant_id = $4) AND ($5::text IS NULL OR topic ~ $5)
    AND ($6::timestamptz IS NULL OR created_at >= $6)
    AND ($7::timestamptz IS NULL OR created_at < $7)
    AND ($8::text IS NULL OR strpos(last_error, $8) > 0)
  ORDER BY available_at, seq LIMIT $2::bigint FOR UPDATE SKIP LOCKED
), sink (destination) AS (
  (SELECT destination FROM {{delivery}} WHERE processed_at IS NULL ORDER BY destination LIMIT 1)
  UNION ALL
  SELECT (SELECT d.destination FROM {{delivery}} AS d
          WHERE d.processed_at IS NULL AND d.destination > s.destination
          ORDER BY d.destination LIMIT 1)
  FROM sink AS s WHERE s.destination IS NOT NULL
), in_part AS MATERIALIZED (
  SELECT found.ctid
  FROM sink AS s
  CROSS JOIN LATERAL (
    SELECT m.ctid
    FROM {{delivery}} AS d
    CROSS JOIN LATERAL (
      SELECT m.ctid FROM {{table}} AS m
      WHERE m.id = d.id AND (m.locked_by = 'deliveries' OR m.status = 'delivered')
        AND ($4 IS NULL OR m.tenant_id = $4) AND ($5 IS NULL OR m.topic ~ $5)
        AND ($6 IS NULL OR m.created_at >= $6) AND ($7 IS NULL OR m.created_at < $7)
        AND d.destination = (
          SELECT min(e.destination::text) FROM {{delivery}} AS e
          WHERE e.id = m.id AND e.status = 'dead'
            AND ($8 IS NULL OR strpos(e.destination || ': ' || e.last_error, $8) > 0))
      FOR UPDATE SKIP LOCKED) AS m
    WHERE $1 AND d.destination = s.destination AND d.processed_at IS NULL
      AND d.available_at = 'infinity'
      AND ($8 IS NULL OR strpos(d.destination || ': ' || d.last_error, $8) > 0)
    ORDER BY d.available_at, d.seq LIMIT $2) AS found
  LIMIT $2 - (SELECT count(*) FROM target)
), changed AS (
  UPDATE {{table}} AS m SET
    status = 'pending', attempts = 0, available_at = now(), locked_by = NULL, locked_until = NULL,
    processed_at = NULL, in_doubt = false, updated_at = now()
  WHERE NOT $3::boolean
    AND m.ctid = ANY (ARRAY(SELECT ctid FROM target UNION ALL SELECT ctid FROM in_part))
  RETURNING 1
)
SELECT CASE WHEN $3 THEN (SELECT count(*) FROM target) + (SELECT count(*) FROM in_part)
  ELSE (SELECT count(*) FROM changed) END
