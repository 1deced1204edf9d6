-- What the two roles may do with one table. A producer sees only what tells it about duplicates.
-- Safe to run again.
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'outbox_producer') THEN
    GRANT USAGE ON SCHEMA {{schema}} TO outbox_producer;
    REVOKE INSERT ON {{table}} FROM outbox_producer;
    -- Not what a relay writes: a message begins untried, and the table counts it.
    GRANT INSERT (id, namespace, topic, event_type, event_version, aggregate_type, aggregate_id, key,
                  tenant_id, dedupe_key, payload, headers, available_at) ON {{table}} TO outbox_producer;
    GRANT SELECT (id, seq, namespace, topic, dedupe_key) ON {{table}} TO outbox_producer;
  END IF;
  IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'outbox_relay') THEN
    GRANT USAGE ON SCHEMA {{schema}} TO outbox_relay;
    GRANT SELECT, UPDATE, DELETE ON {{table}} TO outbox_relay;
    -- Tables of an older version may lack these.
    IF to_regclass('{{delivery}}') IS NOT NULL THEN
      GRANT SELECT, INSERT, UPDATE, DELETE ON {{delivery}} TO outbox_relay;
    END IF;
    IF to_regclass('{{attempt}}') IS NOT NULL THEN
      GRANT SELECT, INSERT, DELETE ON {{attempt}} TO outbox_relay;
    END IF;
  END IF;
END
$$;
