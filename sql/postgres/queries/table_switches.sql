-- Which of its optional triggers a table has: the strict topic rule, and the notification.
-- $1 schema, $2 name
-- Index: the catalog's own.
SELECT
  coalesce(bool_or(t.tgname = $2::text || '_topic'), false),
  coalesce(bool_or(t.tgname = $2 || '_notify'), false)
FROM pg_catalog.pg_trigger AS t
JOIN pg_catalog.pg_class AS c ON c.oid = t.tgrelid
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = $1::text AND c.relname = $2 AND NOT t.tgisinternal
