-- What says no to a new message that breaks a rule of its table. Safe to run again.
--
-- No trigger on INSERT and no check of the table calls them, which would cost every enqueue a tenth of
-- its time. Whoever writes to a table needs them, so everybody may call them. Names are qualified
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
