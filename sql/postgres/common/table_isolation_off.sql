-- Removes tenant isolation: grants alone decide who sees which rows.
ALTER TABLE {{table}} DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY;
ALTER TABLE {{delivery}} DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY;
ALTER TABLE {{attempt}} DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS outbox_all ON {{table}};
DROP POLICY IF EXISTS outbox_tenant ON {{table}};
DROP POLICY IF EXISTS outbox_all ON {{delivery}};
DROP POLICY IF EXISTS outbox_tenant ON {{delivery}};
DROP POLICY IF EXISTS outbox_all ON {{attempt}};
DROP POLICY IF EXISTS outbox_tenant ON {{attempt}};
