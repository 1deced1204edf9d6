-- outbox.enqueue_many: writes many messages in the caller's transaction, as the caller, with one row
-- returned per element and in their order. With branches, as outbox.enqueue. Safe to run again.
--
-- Each element of `messages` is an object with the names of outbox.enqueue's arguments:
--   [{"topic": "orders.order.created.v1", "payload": {"id": 42}, "key": "42"}, ...]
-- Duplicates, also among the elements themselves, add no row and return the first one's id and seq.
CREATE OR REPLACE FUNCTION outbox.enqueue_many_definition() RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $definition$
SELECT replace($function$
CREATE OR REPLACE FUNCTION outbox.enqueue_many(table_name text, messages jsonb)
RETURNS TABLE (id uuid, seq bigint, already_enqueued boolean)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  -- Ids that are made here count up from a first one, which keeps the index of ids together.
  first_id text := outbox.uuid_v7();
  id_head text := left(first_id, 24);
  id_base bigint := ('x1' || right(first_id, 11))::bit(48)::bigint;
  added_ids uuid[];    -- of the rows this call wrote, in order
  added_seqs bigint[];
BEGIN
  IF messages IS NULL OR jsonb_typeof(messages) <> 'array' THEN
    RAISE EXCEPTION 'messages: is not a JSON array'
      USING ERRCODE = 'invalid_parameter_value', HINT = 'write [{"topic": ..., "payload": ...}, ...]';
  END IF;
  IF jsonb_array_length(messages) > 100000 THEN
    RAISE EXCEPTION 'messages: has % elements, over the limit of 100000', jsonb_array_length(messages)
      USING ERRCODE = 'invalid_parameter_value', HINT = 'send them in several calls';
  END IF;
<branches>
  IF added_ids IS NULL THEN
    EXECUTE format(
      'WITH added AS ('
      ' INSERT INTO %s AS t (id, namespace, topic, event_type, event_version, aggregate_type,'
      '  aggregate_id, key, tenant_id, dedupe_key, payload, headers, available_at)'
      ' SELECT m.id, m.namespace, m.topic, m.event_type, m.event_version, m.aggregate_type,'
      '  m.aggregate_id, m.key, m.tenant_id, m.dedupe_key, m.payload, m.headers,'
      '  coalesce(m.available_at, clock_timestamp())'
      ' FROM outbox.checked_elements($1, $2, $3) AS m'
      ' ON CONFLICT DO NOTHING RETURNING t.id, t.seq)'
      ' SELECT coalesce(array_agg(a.id), ''{}''), array_agg(a.seq) FROM added AS a', outbox.quoted_table(table_name))
      INTO added_ids, added_seqs USING messages, id_head, id_base;
  END IF;
  IF cardinality(added_ids) = jsonb_array_length(messages) THEN
    RETURN QUERY SELECT a.id, a.seq, false FROM unnest(added_ids, added_seqs) AS a (id, seq);
    RETURN;
  END IF;
  -- A statement of its own, to see what a transaction committed while the insert waited for it.
  FOR id, seq, already_enqueued IN EXECUTE format(
    'SELECT coalesce(added.id, by_id.id, by_key.id), coalesce(added.seq, by_id.seq, by_key.seq),'
    '  added.id IS NULL OR row_number() OVER (PARTITION BY m.id ORDER BY m.place) > 1'
    ' FROM outbox.checked_elements($1, $2, $3) AS m'
    ' LEFT JOIN unnest($4, $5) AS added (id, seq) ON added.id = m.id'
    ' LEFT JOIN %1$s AS by_id ON added.id IS NULL AND by_id.id = m.id'
    ' LEFT JOIN %1$s AS by_key ON added.id IS NULL AND by_id.id IS NULL'
    '  AND by_key.namespace = m.namespace AND by_key.topic = m.topic'
    '  AND by_key.dedupe_key = m.dedupe_key'
    ' ORDER BY m.place', outbox.quoted_table(table_name))
    USING messages, id_head, id_base, added_ids, added_seqs
  LOOP
    IF seq IS NULL THEN
      RAISE EXCEPTION 'the first message with this identity was removed meanwhile'
        USING ERRCODE = 'serialization_failure', HINT = 'try the transaction again';
    END IF;
    RETURN NEXT;
  END LOOP;
END
$$;
$function$, '<branches>', outbox.branches($branch$
  IF table_name = ANY ('{<names>}') THEN
    -- Nothing can be there already where no element has an identity of its own.
    IF NOT jsonb_path_exists(messages, '$[*] ? (exists(@.id) || exists(@.dedupe_key))') THEN
      RETURN QUERY
        INSERT INTO <table> AS t (id, namespace, topic, event_type, event_version, aggregate_type,
          aggregate_id, key, tenant_id, dedupe_key, payload, headers, available_at)
        SELECT m.id, m.namespace, m.topic, m.event_type, m.event_version, m.aggregate_type,
          m.aggregate_id, m.key, m.tenant_id, m.dedupe_key, m.payload, m.headers,
          coalesce(m.available_at, clock_timestamp())
        FROM outbox.checked_elements(messages, id_head, id_base) AS m
        RETURNING t.id, t.seq, false;
      RETURN;
    END IF;
    WITH added AS (
      INSERT INTO <table> AS t (id, namespace, topic, event_type, event_version, aggregate_type,
        aggregate_id, key, tenant_id, dedupe_key, payload, headers, available_at)
      SELECT m.id, m.namespace, m.topic, m.event_type, m.event_version, m.aggregate_type,
        m.aggregate_id, m.key, m.tenant_id, m.dedupe_key, m.payload, m.headers,
        coalesce(m.available_at, clock_timestamp())
      FROM outbox.checked_elements(messages, id_head, id_base) AS m
      ON CONFLICT DO NOTHING RETURNING t.id, t.seq)
    SELECT coalesce(array_agg(a.id), '{}'), array_agg(a.seq) INTO added_ids, added_seqs FROM added AS a;
  END IF;$branch$))
$definition$;
