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

-- The types of an outbox table's columns. Domains rather than checks of the table: a check is parsed
-- anew by every statement, and evaluated at each lease and settle, which made a third of the cost of an
-- enqueue; a domain is checked where its column is written.
DO $$
BEGIN
  IF to_regtype('outbox.status') IS NULL THEN
    CREATE DOMAIN outbox.status AS text CONSTRAINT status_known
      CHECK (VALUE IN ('pending', 'processing', 'delivered', 'dead'));
    CREATE DOMAIN outbox.label AS text CONSTRAINT label_has_at_most_255_bytes
      CHECK (octet_length(VALUE) <= 255);
    CREATE DOMAIN outbox.dedupe_key AS text CONSTRAINT dedupe_key_has_at_most_512_bytes
      CHECK (octet_length(VALUE) <= 512);
    CREATE DOMAIN outbox.version AS integer CONSTRAINT version_is_at_least_1 CHECK (VALUE >= 1);
  END IF;
  -- What a relay may have to hold in its memory, whoever wrote it.
  IF to_regtype('outbox.payload') IS NULL THEN
    CREATE DOMAIN outbox.payload AS json CONSTRAINT payload_has_at_most_16_mib
      CHECK (octet_length(VALUE::text) <= 16777216);
  END IF;
END
$$;

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
