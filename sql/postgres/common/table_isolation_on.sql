-- Tenant isolation: row level security on the messages, their deliveries and attempts, also for the
-- owner.
--
-- A transaction that names a tenant (SELECT set_config('outbox.tenant', '<uuid>', true)) sees and writes
-- that tenant's rows and no others, whatever its statements say. One that names none is the work of
-- relays, producers, operators and the owner, who see all rows; any other role then sees nothing.
-- Superusers and roles with BYPASSRLS are not bound.
--
-- The setting is read once a statement (in a sub-select), not for each row.
DROP POLICY IF EXISTS outbox_all ON {{table}};
DROP POLICY IF EXISTS outbox_tenant ON {{table}};
DROP POLICY IF EXISTS outbox_all ON {{delivery}};
DROP POLICY IF EXISTS outbox_tenant ON {{delivery}};
DROP POLICY IF EXISTS outbox_all ON {{attempt}};
DROP POLICY IF EXISTS outbox_tenant ON {{attempt}};

DO $$
DECLARE
  workers text := quote_ident(current_user);
  role text;
BEGIN
  FOREACH role IN ARRAY ARRAY['outbox_producer', 'outbox_relay'] LOOP
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = role) THEN
      workers := workers || ', ' || role;
    END IF;
  END LOOP;
  EXECUTE 'CREATE POLICY outbox_all ON {{table}} TO ' || workers
    || ' USING ((SELECT coalesce(current_setting(''outbox.tenant'', true), '''')) = '''')';
  EXECUTE 'CREATE POLICY outbox_all ON {{delivery}} TO ' || workers
    || ' USING ((SELECT coalesce(current_setting(''outbox.tenant'', true), '''')) = '''')';
  EXECUTE 'CREATE POLICY outbox_all ON {{attempt}} TO ' || workers
    || ' USING ((SELECT coalesce(current_setting(''outbox.tenant'', true), '''')) = '''')';
END
$$;

CREATE POLICY outbox_tenant ON {{table}}
  USING (tenant_id = (SELECT nullif(current_setting('outbox.tenant', true), '')::uuid));
-- Deliveries and attempts belong to whom their message belongs to.
CREATE POLICY outbox_tenant ON {{delivery}}
  USING ((SELECT nullif(current_setting('outbox.tenant', true), '')) IS NOT NULL
    AND EXISTS (SELECT FROM {{table}} AS m WHERE m.id = {{delivery}}.id));
CREATE POLICY outbox_tenant ON {{attempt}}
  USING ((SELECT nullif(current_setting('outbox.tenant', true), '')) IS NOT NULL
    AND EXISTS (SELECT FROM {{table}} AS m WHERE m.id = {{attempt}}.id));

ALTER TABLE {{table}} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE {{delivery}} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE {{attempt}} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
