-- How many of a tenant's messages a list has: those of the newest rows, so that the time is bounded.
--
-- $1 rows looked at of what is not delivered, and of what was
-- $2 … $8 as in list_tenant.sql
-- $9 tenant
-- $10, $11            whether what is not delivered, and what was, is wanted
--
-- Index: NAME_tenant_live and NAME_tenant_history; alone where nothing limits.
SELECT (live.wanted + delivered.wanted)::bigint, greatest(live.seen, delivered.seen)
FROM
  (SELECT count(*) FILTER (WHERE
     ($2::text IS NULL OR status = $2) AND ($3::boolean IS NULL OR (attempts > 0) = $3)
     AND ($4::text IS NULL OR topic ~ $4) AND ($5::text IS NULL OR key = $5)
     AND ($6::timestamptz IS NULL OR created_at >= $6)
     AND ($7::timestamptz IS NULL OR created_at < $7)
     AND ($8::text IS NULL OR strpos(last_error, $8) > 0)) AS wanted, count(*) AS seen
   FROM (
     SELECT status, attempts, topic, key, created_at, last_error FROM {{table}}
     WHERE $10::boolean AND tenant_id = $9::uuid AND processed_at IS NULL
     ORDER BY seq DESC LIMIT $1::bigint) AS newest) AS live,
  (SELECT count(*) FILTER (WHERE
     ($2::text IS NULL OR status = $2) AND ($3::boolean IS NULL OR (attempts > 0) = $3)
     AND ($4::text IS NULL OR topic ~ $4) AND ($5::text IS NULL OR key = $5)
     AND ($6::timestamptz IS NULL OR created_at >= $6)
     AND ($7::timestamptz IS NULL OR created_at < $7)
     AND ($8::text IS NULL OR strpos(last_error, $8) > 0)) AS wanted, count(*) AS seen
   FROM (
     SELECT status, attempts, topic, key, created_at, last_error FROM {{table}}
     WHERE $11::boolean AND tenant_id = $9::uuid AND processed_at IS NOT NULL
     ORDER BY seq DESC LIMIT $1::bigint) AS newest) AS delivered
