-- The functions behind a table's triggers. Safe to run again.

-- Says which rule a new message breaks. Triggers call it only when one is broken.
CREATE OR REPLACE FUNCTION outbox.refuse_message() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NEW.tenant_id IS NOT NULL AND NOT starts_with(NEW.dedupe_key, NEW.tenant_id::text || '/') THEN
    RAISE EXCEPTION 'dedupe_key: does not start with the tenant_id and ''/'''
      USING ERRCODE = 'check_violation', COLUMN = 'dedupe_key', TABLE = TG_TABLE_NAME,
            SCHEMA = TG_TABLE_SCHEMA, HINT = format('with a tenant_id, write it as %s/<your key>', NEW.tenant_id);
  END IF;
  RAISE EXCEPTION 'topic: % does not follow the topic rule', quote_literal(left(NEW.topic, 160))
    USING ERRCODE = 'check_violation', COLUMN = 'topic', TABLE = TG_TABLE_NAME, SCHEMA = TG_TABLE_SCHEMA,
          HINT = 'write <module>.<aggregate>.<event>.vN of [a-z0-9-], under 128 characters, such as '
                 'orders.order.created.v1; or relax the rule for this table';
END
$$;

CREATE OR REPLACE FUNCTION outbox.notify_relay() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pg_notify(TG_ARGV[0], '');
  RETURN NULL;
END
$$;
