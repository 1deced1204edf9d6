-- Whether row level security hides rows of a table from this role. It sees all of them where no row
-- level security binds it, or a policy that is not the tenants' own applies to it; one tenant's, where
-- its session names a tenant.
-- $1 schema, $2 name
-- Index: the catalog's own.
SELECT row_security_active(c.oid)
  AND coalesce(current_setting('outbox.tenant', true), '') = ''
  AND NOT EXISTS (
    SELECT FROM pg_catalog.pg_policy AS p, unnest(p.polroles) AS r (role)
    WHERE p.polrelid = c.oid AND p.polpermissive AND p.polcmd IN ('*', 'r')
      AND p.polname <> 'outbox_tenant' AND (r.role = 0 OR pg_has_role(r.role, 'USAGE')))
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = $1::text AND c.relname = $2::text
