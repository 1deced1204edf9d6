-- The functions behind a table's triggers. Safe to run again.

-- Refuses a new message that breaks a rule. Argument: strict (the topic rule too) or relaxed.
--
-- Names are qualified instead of a search_path set, and the rules are here instead of in the trigger's
-- WHEN: PostgreSQL parses a WHEN anew in every statement, which costs an enqueue a tenth of its time.
CREATE OR REPLACE FUNCTION outbox.check_new_message() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.tenant_id IS NOT NULL
    AND NOT pg_catalog.starts_with(NEW.dedupe_key, pg_catalog.concat(NEW.tenant_id, '/')) THEN
    RAISE EXCEPTION 'dedupe_key: does not start with the tenant_id and ''/'''
      USING ERRCODE = 'check_violation', COLUMN = 'dedupe_key', TABLE = TG_TABLE_NAME,
            SCHEMA = TG_TABLE_SCHEMA,
            HINT = pg_catalog.format('with a tenant_id, write it as %s/<your key>', NEW.tenant_id);
  END IF;
  IF TG_ARGV[0] OPERATOR(pg_catalog.=) 'strict' AND NOT (
    NEW.topic OPERATOR(pg_catalog.~) '^[a-z0-9-]+\.[a-z0-9-]+\.[a-z0-9-]+\.v[1-9][0-9]*$'
    AND pg_catalog.octet_length(NEW.topic) OPERATOR(pg_catalog.<) 128) THEN
    RAISE EXCEPTION 'topic: % does not follow the topic rule',
      pg_catalog.quote_literal(pg_catalog.left(NEW.topic, 160))
      USING ERRCODE = 'check_violation', COLUMN = 'topic', TABLE = TG_TABLE_NAME, SCHEMA = TG_TABLE_SCHEMA,
            HINT = 'write <module>.<aggregate>.<event>.vN of [a-z0-9-], under 128 characters, such as '
                   'orders.order.created.v1; or relax the rule for this table';
  END IF;
  RETURN NEW;
END
$$;

CREATE OR REPLACE FUNCTION outbox.notify_relay() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pg_notify(TG_ARGV[0], '');
  RETURN NULL;
END
$$;
