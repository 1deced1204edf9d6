-- outbox.enqueue_many: writes many messages in the caller's transaction, as the caller, with one row
-- returned per element and in their order. Safe to run again.
--
-- Each element of `messages` is an object with the names of outbox.enqueue's arguments:
--   [{"topic": "orders.order.created.v1", "payload": {"id": 42}, "key": "42"}, ...]
-- Duplicates, also among the elements themselves, add no row and return the first one's id and seq.
CREATE OR REPLACE FUNCTION outbox.enqueue_many(table_name text, messages jsonb)
RETURNS TABLE (id uuid, seq bigint, already_enqueued boolean)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  target text := outbox.quoted_table(table_name);
  ids uuid[];    -- of the elements, in order
  added uuid[];  -- of the rows this call wrote
BEGIN
  IF messages IS NULL OR jsonb_typeof(messages) <> 'array' THEN
    RAISE EXCEPTION 'messages: is not a JSON array'
      USING ERRCODE = 'invalid_parameter_value', HINT = 'write [{"topic": ..., "payload": ...}, ...]';
  END IF;
  IF jsonb_array_length(messages) > 100000 THEN
    RAISE EXCEPTION 'messages: has % elements, over the limit of 100000', jsonb_array_length(messages)
      USING ERRCODE = 'invalid_parameter_value', HINT = 'send them in several calls';
  END IF;
  PERFORM outbox.check_message(format('messages[%s].', n - 1), e ->> 'topic', e -> 'payload', e ->> 'key',
      (e ->> 'tenant_id')::uuid, nullif(e ->> 'dedupe_key', ''), e -> 'headers',
      (e ->> 'available_at')::timestamptz, (e ->> 'id')::uuid, e ->> 'namespace', e ->> 'event_type',
      (e ->> 'event_version')::integer, e ->> 'aggregate_type', e ->> 'aggregate_id')
    FROM jsonb_array_elements(messages) WITH ORDINALITY AS x (e, n);
  SELECT array_agg(coalesce((e ->> 'id')::uuid, outbox.uuid_v7()) ORDER BY n) INTO ids
    FROM jsonb_array_elements(messages) WITH ORDINALITY AS x (e, n);
  EXECUTE format(
    'WITH added AS ('
    ' INSERT INTO %s (id, namespace, topic, event_type, event_version, aggregate_type, aggregate_id,'
    '  key, tenant_id, dedupe_key, payload, headers, available_at)'
    ' SELECT new_id, coalesce(e ->> ''namespace'', ''''), e ->> ''topic'', e ->> ''event_type'','
    '  coalesce((e ->> ''event_version'')::integer, 1), e ->> ''aggregate_type'','
    '  e ->> ''aggregate_id'', e ->> ''key'', (e ->> ''tenant_id'')::uuid,'
    '  nullif(e ->> ''dedupe_key'', ''''), (e -> ''payload'')::text::json,'
    '  nullif(e -> ''headers'', ''null'')::text::json,'
    '  coalesce((e ->> ''available_at'')::timestamptz, clock_timestamp())'
    ' FROM ROWS FROM (jsonb_array_elements($1), unnest($2)) WITH ORDINALITY AS x (e, new_id, n)'
    ' ORDER BY n ON CONFLICT DO NOTHING RETURNING id)'
    ' SELECT coalesce(array_agg(id), ''{}'') FROM added', target)
    INTO added USING messages, ids;
  -- A statement of its own, to see what a transaction committed while the insert waited for it.
  FOR id, seq, already_enqueued IN EXECUTE format(
    'SELECT coalesce(by_id.id, by_key.id), coalesce(by_id.seq, by_key.seq),'
    '  new.id IS NULL OR row_number() OVER (PARTITION BY new_id ORDER BY n) > 1'
    ' FROM ROWS FROM (jsonb_array_elements($1), unnest($2)) WITH ORDINALITY AS x (e, new_id, n)'
    ' LEFT JOIN unnest($3) AS new (id) ON new.id = new_id'
    ' LEFT JOIN %1$s AS by_id ON by_id.id = new_id'
    ' LEFT JOIN %1$s AS by_key ON by_id.id IS NULL'
    '  AND by_key.namespace = coalesce(e ->> ''namespace'', '''')'
    '  AND by_key.topic = e ->> ''topic'' AND by_key.dedupe_key = e ->> ''dedupe_key'''
    ' ORDER BY n', target)
    USING messages, ids, added
  LOOP
    IF seq IS NULL THEN
      RAISE EXCEPTION 'the first message with this identity was removed meanwhile'
        USING ERRCODE = 'serialization_failure', HINT = 'try the transaction again';
    END IF;
    RETURN NEXT;
  END LOOP;
END
$$;
