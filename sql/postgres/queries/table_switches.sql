-- Which of its options a table has: the strict topic rule, the notification, and tenant isolation.
-- $1 schema, $2 name
-- Index: the catalog's own.
SELECT
  EXISTS (SELECT FROM pg_catalog.pg_attribute AS a
          JOIN pg_catalog.pg_constraint AS r ON r.contypid = a.atttypid
          WHERE a.attrelid = c.oid AND a.attname = 'topic' AND r.conname = 'topic_rule'),
  EXISTS (SELECT FROM pg_catalog.pg_trigger AS t
          WHERE t.tgrelid = c.oid AND t.tgname = $2::text || '_notify'),
  c.relrowsecurity
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = $1::text AND c.relname = $2
