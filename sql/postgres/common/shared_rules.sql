-- What says no to a new message that breaks a rule of its table. Safe to run again.
--
-- No check of the table calls them, which would cost every enqueue a tenth of its time. Whoever writes to a table needs them, so everybody may call them. Names are qualified
-- instead of a search_path set, which costs each call.

-- Called by the domain of a table's topics when a topic does not match (table_topics_strict.sql).
CREATE OR REPLACE FUNCTION outbox.refuse_topic(topic text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RAISE EXCEPTION 'topic: % does not follow the topic rule',
    pg_catalog.quote_literal(pg_catalog.left(topic, 160))
    USING ERRCODE = 'check_violation', COLUMN = 'topic',
          HINT = 'write <module>.<aggregate>.<event>.vN of [a-z0-9-], under 128 characters, such as '
                 'orders.order.created.v1; or relax the rule for this table';
END
$$;

-- True, or an error. The last column of a table's unique index of dedupe keys: evaluated for messages
-- that have such a key, and for no others.
CREATE OR REPLACE FUNCTION outbox.own_dedupe_key(tenant_id uuid, dedupe_key text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF NOT pg_catalog.starts_with(dedupe_key, pg_catalog.concat(tenant_id, '/'))
    AND tenant_id IS NOT NULL THEN
    RAISE EXCEPTION 'dedupe_key: does not start with the tenant_id and ''/'''
      USING ERRCODE = 'check_violation', COLUMN = 'dedupe_key',
            HINT = pg_catalog.format('with a tenant_id, write it as %s/<your key>', tenant_id);
  END IF;
  RETURN true;
END
$$;

-- Called by a table's trigger for new rows that look wrong (migration 6). A row that is restored may be
-- dead, and so due at infinity. What enqueue takes as 64 KiB of headers may be eight times as long when
-- all of it is escaped.
CREATE OR REPLACE FUNCTION outbox.refuse_row() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NEW.status <> 'dead'
    AND NEW.available_at NOT BETWEEN timestamptz '0001-01-01 00:00:00+00'
                                 AND timestamptz '9999-12-31 23:59:59.999999+00' THEN
    RAISE EXCEPTION 'available_at: is not within the years 1 to 9999'
      USING ERRCODE = 'check_violation', COLUMN = 'available_at', TABLE = TG_TABLE_NAME,
            HINT = 'leave it out for a message that is due at once';
  ELSIF octet_length(NEW.headers::text) > 524288 THEN
    RAISE EXCEPTION 'headers: have % bytes, over the limit of 524288', octet_length(NEW.headers::text)
      USING ERRCODE = 'check_violation', COLUMN = 'headers', TABLE = TG_TABLE_NAME,
            HINT = 'put data into the payload';
  END IF;
  RETURN NULL;
END
$$;
