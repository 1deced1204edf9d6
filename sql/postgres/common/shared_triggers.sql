-- The functions behind a table's optional triggers. Safe to run again.

CREATE OR REPLACE FUNCTION outbox.refuse_topic() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
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
