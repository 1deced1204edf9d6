-- Which of its options a table has: the strict topic rule, the notification, and tenant isolation.
-- $1 schema, $2 name
-- Index: the catalog's own.
SELECT
  coalesce(bool_or(t.tgname = $2::text || '_topic'), false),
  coalesce(bool_or(t.tgname = $2 || '_notify'), false),
  coalesce(bool_or(c.relrowsecurity), false)
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_trigger AS t ON t.tgrelid = c.oid AND NOT t.tgisinternal
WHERE n.nspname = $1::text AND c.relname = $2
