-- Whose transactions hold a table since a while ago, the oldest first: process (0: a prepared
-- transaction), program, seconds (null: this role may not know). A transaction whose age is hidden
-- counts as old.
-- $1 schema, $2 names of the table and its companions, $3 milliseconds
-- Index: the catalog's own.
SELECT
  coalesce(l.pid, 0), coalesce(a.application_name, ''),
  extract(epoch FROM clock_timestamp() - a.xact_start)::bigint
FROM pg_catalog.pg_locks AS l
JOIN pg_catalog.pg_class AS c ON c.oid = l.relation
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_stat_activity AS a ON a.pid = l.pid
WHERE l.locktype = 'relation' AND l.granted
  AND l.database = (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = current_database())
  AND n.nspname = $1::text AND c.relname = ANY ($2::text[])
  AND l.pid IS DISTINCT FROM pg_backend_pid()
  AND (a.xact_start IS NULL OR a.xact_start < clock_timestamp() - $3::bigint * interval '1 ms')
GROUP BY l.pid, a.application_name, a.xact_start
ORDER BY a.xact_start, l.pid LIMIT 3
