-- outbox.enqueue: writes one message in the caller's transaction, as the caller. A message with the same
-- id, or the same (namespace, topic, dedupe_key), adds no row and returns the first one's id and seq.
-- Safe to run again.

-- The whole of it, for any table and message. Its statements are planned for every call.
CREATE OR REPLACE FUNCTION outbox.enqueue_any(
  table_name text, topic text, payload jsonb, key text, tenant_id uuid, dedupe_key text, headers jsonb,
  available_at timestamptz, INOUT id uuid, namespace text, event_type text, event_version integer,
  aggregate_type text, aggregate_id text, OUT seq bigint, OUT already_enqueued boolean)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  target text := outbox.quoted_table(table_name);
  new_id uuid := coalesce(id, outbox.uuid_v7());
  dedupe text := nullif(dedupe_key, '');
BEGIN
  PERFORM outbox.check_message('', topic, payload, key, tenant_id, dedupe, headers, available_at, id,
    namespace, event_type, event_version, aggregate_type, aggregate_id);
  -- The first message may be cleaned away between the two statements; then this one is the first.
  FOR try IN 1..3 LOOP
    EXECUTE format(
      'INSERT INTO %s (id, namespace, topic, event_type, event_version, aggregate_type, aggregate_id,'
      ' key, tenant_id, dedupe_key, payload, headers, available_at)'
      ' VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, coalesce($13, clock_timestamp()))'
      ' ON CONFLICT DO NOTHING RETURNING id, seq, false', target)
      INTO id, seq, already_enqueued
      USING new_id, coalesce(namespace, ''), topic, event_type, coalesce(event_version, 1), aggregate_type,
        aggregate_id, key, tenant_id, dedupe, to_json(payload), to_json(nullif(headers, 'null')),
        available_at;
    EXIT WHEN seq IS NOT NULL;
    EXECUTE format(
      'SELECT id, seq, true FROM ('
      ' SELECT id, seq FROM %1$s WHERE id = $1 UNION ALL'
      ' SELECT id, seq FROM %1$s WHERE namespace = $2 AND topic = $3 AND dedupe_key = $4) AS first'
      ' LIMIT 1', target)
      INTO id, seq, already_enqueued
      USING new_id, coalesce(namespace, ''), topic, dedupe;
    EXIT WHEN seq IS NOT NULL;
  END LOOP;
  IF seq IS NULL THEN
    RAISE EXCEPTION 'the first message with this identity comes and goes'
      USING ERRCODE = 'serialization_failure', HINT = 'try the transaction again';
  END IF;
END
$$;

-- The text of outbox.enqueue. It has a branch for each outbox table, with statements that are planned
-- once a session. A branch adds sound messages that are not there yet; all else is for enqueue_any.
--
-- Every name and operator is qualified instead of a search_path set, which costs each call. The fewer
-- statements on the way to the INSERT, the better: PL/pgSQL prepares each anew in every transaction.
CREATE OR REPLACE FUNCTION outbox.enqueue_definition() RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $definition$
SELECT replace($function$
CREATE OR REPLACE FUNCTION outbox.enqueue(
  table_name text, topic text, payload jsonb,
  key text DEFAULT NULL, tenant_id uuid DEFAULT NULL, dedupe_key text DEFAULT NULL,
  headers jsonb DEFAULT NULL, available_at timestamptz DEFAULT NULL, INOUT id uuid DEFAULT NULL,
  namespace text DEFAULT '', event_type text DEFAULT NULL, event_version integer DEFAULT 1,
  aggregate_type text DEFAULT NULL, aggregate_id text DEFAULT NULL,
  OUT seq bigint, OUT already_enqueued boolean)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  body pg_catalog.json := pg_catalog.to_json(payload);
  new_id pg_catalog.uuid;
BEGIN<branches>
  SELECT a.id, a.seq, a.already_enqueued INTO id, seq, already_enqueued
  FROM outbox.enqueue_any(table_name, topic, payload, key, tenant_id, dedupe_key, headers, available_at,
    id, namespace, event_type, event_version, aggregate_type, aggregate_id) AS a;
END
$$;
$function$, '<branches>', outbox.branches($branch$
  -- Without an identity of its own nothing can be there already, and nothing is looked for.
  IF id IS NULL AND dedupe_key IS NULL AND table_name OPERATOR(pg_catalog.=) ANY ('{<names>}')
    AND outbox.is_sound(topic, payload, body, key, tenant_id, NULL, headers, available_at, NULL,
      namespace, event_type, event_version, aggregate_type, aggregate_id) THEN
    INSERT INTO <table> AS t (id, namespace, topic, event_type, event_version, aggregate_type,
      aggregate_id, key, tenant_id, payload, headers, available_at)
    VALUES (outbox.uuid_v7(), namespace, topic, event_type, event_version, aggregate_type, aggregate_id,
      key, tenant_id, body, pg_catalog.to_json(headers),
      coalesce(available_at, pg_catalog.clock_timestamp()))
    RETURNING t.id, t.seq, false INTO id, seq, already_enqueued;
    RETURN;
  ELSIF table_name OPERATOR(pg_catalog.=) ANY ('{<names>}')
    AND outbox.is_sound(topic, payload, body, key, tenant_id, dedupe_key, headers, available_at, id,
      namespace, event_type, event_version, aggregate_type, aggregate_id) THEN
    INSERT INTO <table> AS t (id, namespace, topic, event_type, event_version, aggregate_type,
      aggregate_id, key, tenant_id, dedupe_key, payload, headers, available_at)
    VALUES (coalesce(id, outbox.uuid_v7()), namespace, topic, event_type, event_version, aggregate_type,
      aggregate_id, key, tenant_id, dedupe_key, body, pg_catalog.to_json(headers),
      coalesce(available_at, pg_catalog.clock_timestamp()))
    ON CONFLICT DO NOTHING RETURNING t.id, t.seq, false INTO new_id, seq, already_enqueued;
    IF FOUND THEN
      id := new_id;
      RETURN;
    END IF;
  END IF;$branch$))
$definition$;
