-- outbox.enqueue: writes one message in the caller's transaction, as the caller. Safe to run again.

-- A UUID version 7: milliseconds, then random bits.
CREATE OR REPLACE FUNCTION outbox.uuid_v7() RETURNS uuid
LANGUAGE sql VOLATILE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
  -- The first six bytes become the time; setting two bits turns version 4 into 7.
  SELECT encode(
    set_bit(set_bit(
      overlay(uuid_send(gen_random_uuid())
              PLACING substring(int8send(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3)
              FROM 1 FOR 6),
      52, 1), 53, 1), 'hex')::uuid
$$;

-- The quoted name of an outbox table; anything else is refused, so that no text of a caller's ever
-- reaches a statement as it is.
CREATE OR REPLACE FUNCTION outbox.quoted_table(table_name text) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  full_name text := CASE WHEN strpos(table_name, '.') > 0 THEN table_name ELSE 'public.' || table_name END;
BEGIN
  IF table_name IS NULL OR full_name !~ '^[a-z_][a-z0-9_]{0,47}\.[a-z_][a-z0-9_]{0,47}$' THEN
    RAISE EXCEPTION 'table_name: % is not a valid table name', coalesce(quote_literal(left(table_name, 80)), 'NULL')
      USING ERRCODE = 'invalid_parameter_value',
            HINT = 'use name or schema.name of lower-case letters, digits and _';
  END IF;
  IF NOT EXISTS (SELECT FROM outbox.migration AS m WHERE m.table_name = full_name) THEN
    RAISE EXCEPTION 'table_name: % is not an outbox table', full_name
      USING ERRCODE = 'undefined_table',
            HINT = 'create it: outboxd migrate up --table ' || full_name;
  END IF;
  RETURN format('%I.%I', split_part(full_name, '.', 1), split_part(full_name, '.', 2));
END
$$;

-- Refuses a message that breaks a rule, naming the field. `place` says which message of many.
CREATE OR REPLACE FUNCTION outbox.check_message(
  place text, topic text, payload jsonb, key text, tenant_id uuid, dedupe_key text, headers jsonb,
  available_at timestamptz, id uuid, namespace text, event_type text, event_version integer,
  aggregate_type text, aggregate_id text) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  problem text;
  remedy text;
BEGIN
  IF topic IS NULL OR topic = '' THEN
    problem := 'topic: is missing';
    remedy := 'write <module>.<aggregate>.<event>.vN, such as orders.order.created.v1';
  ELSIF payload IS NULL THEN
    problem := 'payload: is missing';
    remedy := 'send JSON; an event without data is {}';
  ELSIF octet_length(payload::text) > 1048576 THEN
    problem := format('payload: has %s bytes, over the limit of 1048576', octet_length(payload::text));
    remedy := 'store large data elsewhere and enqueue a reference';
  ELSIF greatest(octet_length(key), octet_length(namespace), octet_length(event_type),
                 octet_length(aggregate_type), octet_length(aggregate_id), octet_length(topic)) > 255 THEN
    SELECT format('%s: has %s bytes, over the limit of 255', f.name, octet_length(f.value)) INTO problem
      FROM (VALUES ('topic', topic), ('key', key), ('namespace', namespace), ('event_type', event_type),
                   ('aggregate_type', aggregate_type), ('aggregate_id', aggregate_id)) AS f (name, value)
      WHERE octet_length(f.value) > 255 LIMIT 1;
    remedy := 'shorten it, or put it into the payload';
  ELSIF octet_length(dedupe_key) > 512 THEN
    problem := format('dedupe_key: has %s bytes, over the limit of 512', octet_length(dedupe_key));
    remedy := 'use a digest of it';
  ELSIF tenant_id IS NOT NULL AND NOT starts_with(dedupe_key, tenant_id::text || '/') THEN
    problem := 'dedupe_key: does not start with the tenant_id and ''/''';
    remedy := format('with a tenant_id, write it as %s/<your key>', tenant_id);
  ELSIF event_version < 1 THEN
    problem := format('event_version: %s is below 1', event_version);
    remedy := 'count versions from 1';
  ELSIF id = uuid '00000000-0000-0000-0000-000000000000' THEN
    problem := 'id: is the nil UUID';
    remedy := 'leave it out to have one made';
  ELSIF available_at NOT BETWEEN timestamptz '0001-01-01 00:00:00+00'
                             AND timestamptz '9999-12-31 23:59:59.999999+00' THEN
    problem := 'available_at: is not within the years 1 to 9999';
    remedy := 'leave it out for a message that is due at once';
  ELSIF headers IS NULL THEN
    RETURN true;
  ELSIF jsonb_typeof(headers) NOT IN ('object', 'null') THEN
    problem := 'headers: is not a JSON object';
    remedy := 'write {"name": "value", ...}';
  ELSIF octet_length(headers::text) > 65536 THEN
    problem := format('headers: have %s bytes, over the limit of 65536', octet_length(headers::text));
    remedy := 'put data into the payload';
  -- A look at the whole text costs a fraction of one at each name.
  ELSIF octet_length(headers::text) < 256 AND headers::text !~ '^\{"":|[\\\u007F]' THEN
    RETURN true;
  ELSIF jsonb_typeof(headers) = 'object' AND EXISTS (
      SELECT FROM jsonb_object_keys(headers) AS name
      WHERE name = '' OR name ~ '[\u0001-\u001F\u007F]' OR octet_length(name) > 255) THEN
    problem := 'headers: a name is empty, has a control character or more than 255 bytes';
    remedy := 'names are short printable text, without tabs and line ends';
  ELSE
    RETURN true;
  END IF;
  RAISE EXCEPTION '%', place || problem USING ERRCODE = 'invalid_parameter_value', HINT = remedy;
END
$$;

-- A message with the same id, or the same (namespace, topic, dedupe_key), adds no row and returns
-- the first one's id and seq.
CREATE OR REPLACE FUNCTION outbox.enqueue(
  table_name text, topic text, payload jsonb,
  key text DEFAULT NULL, tenant_id uuid DEFAULT NULL, dedupe_key text DEFAULT NULL,
  headers jsonb DEFAULT NULL, available_at timestamptz DEFAULT NULL, INOUT id uuid DEFAULT NULL,
  namespace text DEFAULT '', event_type text DEFAULT NULL, event_version integer DEFAULT 1,
  aggregate_type text DEFAULT NULL, aggregate_id text DEFAULT NULL,
  OUT seq bigint, OUT already_enqueued boolean)
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
        aggregate_id, key, tenant_id, dedupe, payload::text::json,
        nullif(headers, 'null')::text::json, available_at;
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
