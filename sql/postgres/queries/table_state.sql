-- Whether a table exists, whether there are migration records at all, whether the schema exists, and whether
-- there are pauses under the name that an older version gave them. Reads only the catalog, so that it needs
-- no rights.
-- $1 schema, $2 name
-- Index: the catalog's own.
SELECT
  EXISTS (SELECT FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
          WHERE n.nspname = $1::text AND c.relname = $2::text),
  EXISTS (SELECT FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
          WHERE n.nspname = 'outbox' AND c.relname = 'migration'),
  EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1),
  EXISTS (SELECT FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
          WHERE n.nspname = 'outbox' AND c.relname = 'hold')
