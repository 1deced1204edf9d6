-- What all outbox tables of a database share: the schema `outbox` with the migration records, the
-- roles, and the functions of the files beside this one. Safe to run again.
CREATE SCHEMA IF NOT EXISTS outbox;

CREATE TABLE IF NOT EXISTS outbox.migration (
  table_name text        NOT NULL,
  number     integer     NOT NULL,
  name       text        NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT migration_pkey PRIMARY KEY (table_name, number)
);

-- Producers may enqueue; relays (and operators and cleaners) may work on outbox tables. Neither may
-- log in: grant them to roles that do. Without the right to create roles they are left out.
DO $$
DECLARE
  role text;
BEGIN
  FOREACH role IN ARRAY ARRAY['outbox_producer', 'outbox_relay'] LOOP
    CONTINUE WHEN EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = role);
    BEGIN
      EXECUTE format('CREATE ROLE %I NOLOGIN', role);
    EXCEPTION
      WHEN insufficient_privilege THEN
        RAISE NOTICE 'role % was not created: this user may not create roles', role;
      WHEN duplicate_object OR unique_violation THEN
        NULL;  -- another database of this server was quicker
    END;
  END LOOP;
END
$$;
