-- What outbox.enqueue and outbox.enqueue_many are made of; they themselves are in the files beside this
-- one. Safe to run again.

-- A UUID version 7: milliseconds, then random bits. Names are qualified instead of a search_path set, so
-- that it becomes part of the expression that calls it.
CREATE OR REPLACE FUNCTION outbox.uuid_v7() RETURNS uuid
LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
  -- The first six bytes become the time; setting two bits turns version 4 into 7.
  SELECT pg_catalog.encode(
    pg_catalog.set_bit(pg_catalog.set_bit(
      overlay(pg_catalog.uuid_send(pg_catalog.gen_random_uuid())
              PLACING substring(pg_catalog.int8send(pg_catalog.floor(
                pg_catalog.date_part('epoch', pg_catalog.clock_timestamp())
                OPERATOR(pg_catalog.*) 1000)::bigint) FROM 3)
              FROM 1 FOR 6),
      52, 1), 53, 1), 'hex')::pg_catalog.uuid
$$;

-- The quoted name of an outbox table; anything else is refused, so that no text of a caller's ever
-- reaches a statement as it is.
CREATE OR REPLACE FUNCTION outbox.quoted_table(table_name text) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  full_name text := CASE WHEN strpos(table_name, '.') > 0 THEN table_name ELSE 'public.' || table_name END;
  schema_name text := split_part(full_name, '.', 1);
BEGIN
  IF table_name IS NULL OR full_name !~ '^[a-z_][a-z0-9_]{0,47}\.[a-z_][a-z0-9_]{0,47}$' THEN
    RAISE EXCEPTION 'table_name: % is not a valid table name', coalesce(quote_literal(left(table_name, 80)), 'NULL')
      USING ERRCODE = 'invalid_parameter_value',
            HINT = 'use name or schema.name of lower-case letters, digits and _';
  END IF;
  IF NOT EXISTS (SELECT FROM outbox.migration AS m WHERE m.table_name = full_name) THEN
    RAISE EXCEPTION 'table_name: % is not an outbox table', full_name
      USING ERRCODE = 'undefined_table',
            HINT = coalesce((SELECT 'outbox tables: ' || string_agg(known.table_name, ', ') || '; to create this one, '
                             FROM (SELECT DISTINCT m.table_name FROM outbox.migration AS m ORDER BY 1 LIMIT 20) AS known), '')
              || CASE WHEN to_regnamespace(quote_ident(schema_name)) IS NULL
                   THEN format('there is no schema %1$s: CREATE SCHEMA %1$s, then ', schema_name) ELSE '' END
              || 'run: outboxd migrate up --table ' || full_name;
  END IF;
  RETURN format('%I.%I', schema_name, split_part(full_name, '.', 2));
END
$$;

-- The two functions below become part of the statements that call them. So they set no search_path, and
-- qualify every name and operator.

-- True when a number anywhere in the value is too large for a double: most readers of JSON would take it
-- for infinity or refuse it. From here on numbers round to infinity.
CREATE OR REPLACE FUNCTION outbox.exceeds_double(value jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT (value OPERATOR(pg_catalog.@@)
    '$.** >= 1.797693134862315807937e308 || $.** <= -1.797693134862315807937e308') IS TRUE
$$;

-- True for a message that certainly keeps all rules; for the others, check_message decides. `body` is the
-- payload as it will be stored.
CREATE OR REPLACE FUNCTION outbox.is_sound(
  topic text, payload jsonb, body json, key text, tenant_id uuid, dedupe_key text, headers jsonb,
  available_at timestamptz, id uuid, namespace text, event_type text, event_version integer,
  aggregate_type text, aggregate_id text) RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT topic OPERATOR(pg_catalog.<>) ''
    AND pg_catalog.octet_length(body::pg_catalog.text) OPERATOR(pg_catalog.<=) 1048576
    AND NOT outbox.exceeds_double(payload)
    AND greatest(pg_catalog.octet_length(topic), pg_catalog.octet_length(key),
                 pg_catalog.octet_length(namespace), pg_catalog.octet_length(event_type),
                 pg_catalog.octet_length(aggregate_type), pg_catalog.octet_length(aggregate_id))
        OPERATOR(pg_catalog.<=) 255
    AND namespace IS NOT NULL AND event_version OPERATOR(pg_catalog.>=) 1
    AND (dedupe_key IS NULL
      OR pg_catalog.octet_length(dedupe_key) OPERATOR(pg_catalog.<=) 512
        AND dedupe_key OPERATOR(pg_catalog.<>) ''
        AND (tenant_id IS NULL OR pg_catalog.starts_with(dedupe_key, pg_catalog.concat(tenant_id, '/'))))
    AND (id IS NULL
      OR id OPERATOR(pg_catalog.<>) '00000000-0000-0000-0000-000000000000'::pg_catalog.uuid)
    AND (available_at IS NULL
      OR available_at OPERATOR(pg_catalog.>=) '0001-01-01 00:00:00+00'::pg_catalog.timestamptz
        AND available_at OPERATOR(pg_catalog.<=) '9999-12-31 23:59:59.999999+00'::pg_catalog.timestamptz)
    -- A look at the whole text costs a fraction of one at each name.
    AND (headers IS NULL
      OR pg_catalog.octet_length(headers::pg_catalog.text) OPERATOR(pg_catalog.<) 256
        AND headers::pg_catalog.text OPERATOR(pg_catalog.~) '^\{'
        AND headers::pg_catalog.text OPERATOR(pg_catalog.!~) '^\{"":|[\\\u007F]'
        AND NOT outbox.exceeds_double(headers))
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
  ELSIF outbox.exceeds_double(payload) THEN
    problem := 'payload: has a number that does not fit a double';
    remedy := 'keep numbers below 1.8e308, or send them as strings';
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
  ELSIF outbox.exceeds_double(headers) THEN
    problem := 'headers: have a number that does not fit a double';
    remedy := 'keep numbers below 1.8e308, or send them as strings';
  ELSIF octet_length(headers::text) > 65536 THEN
    problem := format('headers: have %s bytes, over the limit of 65536', octet_length(headers::text));
    remedy := 'put data into the payload';
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

-- The same for the element of enqueue_many at `place`, counted from 1.
CREATE OR REPLACE FUNCTION outbox.check_element(place bigint, element jsonb) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  path text := format('messages[%s]', place - 1);
  member text;
BEGIN
  IF jsonb_typeof(element) <> 'object' THEN
    RAISE EXCEPTION '%: is not a JSON object', path
      USING ERRCODE = 'invalid_parameter_value', HINT = 'write {"topic": ..., "payload": ...}';
  END IF;
  SELECT name INTO member FROM jsonb_object_keys(element - outbox.members()) AS name LIMIT 1;
  IF member IS NOT NULL THEN
    RAISE EXCEPTION '%.%: is not a field of a message', path, left(member, 64)
      USING ERRCODE = 'invalid_parameter_value',
            HINT = 'the fields are ' || array_to_string(outbox.members(), ', ');
  END IF;
  RETURN outbox.check_message(path || '.', element ->> 'topic', element -> 'payload', element ->> 'key',
    (element ->> 'tenant_id')::uuid, nullif(element ->> 'dedupe_key', ''), element -> 'headers',
    (element ->> 'available_at')::timestamptz, (element ->> 'id')::uuid, element ->> 'namespace',
    element ->> 'event_type', (element ->> 'event_version')::integer, element ->> 'aggregate_type',
    element ->> 'aggregate_id');
END
$$;

-- What an element of enqueue_many may have.
CREATE OR REPLACE FUNCTION outbox.members() RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT '{topic,payload,key,tenant_id,dedupe_key,headers,available_at,id,namespace,event_type,event_version,aggregate_type,aggregate_id}'::pg_catalog.text[]
$$;

-- The elements of enqueue_many as rows, all of them checked. Elements without an id get `id_head` with a
-- number counted up from `id_base` behind it. Not volatile and without a search_path of its own, so that
-- it becomes part of the statement that reads it; OFFSET keeps its columns from being computed twice. The
-- rows come in the order of the elements: a scan of a function keeps it, and nothing else is in the plan.
CREATE OR REPLACE FUNCTION outbox.checked_elements(messages jsonb, id_head text, id_base bigint)
RETURNS TABLE (
  place bigint, id uuid, namespace text, topic text, event_type text, event_version integer,
  aggregate_type text, aggregate_id text, key text, tenant_id uuid, dedupe_key text, payload json,
  headers json, available_at timestamptz)
LANGUAGE sql STABLE AS $$
  SELECT m.n, m.id, m.namespace, m.topic, m.event_type, m.event_version, m.aggregate_type, m.aggregate_id,
    m.key, m.tenant_id, m.dedupe_key, m.body, to_json(m.headers), m.available_at
  FROM (
    SELECT n, e, coalesce((e ->> 'id')::uuid, (id_head || to_hex(id_base + n))::uuid) AS id,
      coalesce(e ->> 'namespace', '') AS namespace, e ->> 'topic' AS topic,
      e ->> 'event_type' AS event_type, coalesce((e ->> 'event_version')::integer, 1) AS event_version,
      e ->> 'aggregate_type' AS aggregate_type, e ->> 'aggregate_id' AS aggregate_id, e ->> 'key' AS key,
      (e ->> 'tenant_id')::uuid AS tenant_id, nullif(e ->> 'dedupe_key', '') AS dedupe_key,
      e -> 'payload' AS payload, to_json(e -> 'payload') AS body,
      nullif(e -> 'headers', 'null') AS headers,
      (e ->> 'available_at')::timestamptz AS available_at
    FROM jsonb_array_elements(messages) WITH ORDINALITY AS x (e, n) OFFSET 0) AS m
  WHERE CASE WHEN jsonb_typeof(m.e) = 'object' THEN
      m.e - outbox.members() = '{}' AND outbox.is_sound(m.topic, m.payload, m.body, m.key, m.tenant_id, m.dedupe_key, m.headers, m.available_at,
        m.id, m.namespace, m.event_type, m.event_version, m.aggregate_type, m.aggregate_id) END IS TRUE
    OR outbox.check_element(m.n, m.e)
$$;
