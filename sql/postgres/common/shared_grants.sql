-- Who may use the shared objects: nobody but the two roles, except for the rules of a table's columns.
-- Safe to run again.
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA outbox FROM PUBLIC;
GRANT EXECUTE ON FUNCTION outbox.refuse_topic(text), outbox.own_dedupe_key(uuid, text) TO PUBLIC;

DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'outbox_producer') THEN
    GRANT USAGE ON SCHEMA outbox TO outbox_producer;
    GRANT SELECT ON outbox.migration TO outbox_producer;
    GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA outbox TO outbox_producer;
    REVOKE EXECUTE ON FUNCTION outbox.purge_audit(text, bigint, bigint), outbox.write_enqueue(),
      outbox.enqueue_definition(), outbox.enqueue_many_definition(), outbox.branches(text)
      FROM outbox_producer;
  END IF;
  IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'outbox_relay') THEN
    GRANT USAGE ON SCHEMA outbox TO outbox_relay;
    GRANT SELECT ON outbox.migration TO outbox_relay;
    GRANT SELECT, INSERT, UPDATE, DELETE ON outbox.relay TO outbox_relay;
    GRANT SELECT, INSERT, DELETE ON outbox.pause TO outbox_relay;
    GRANT SELECT, INSERT, UPDATE, DELETE ON outbox.leader TO outbox_relay;
    -- What was recorded stays until it is old: neither UPDATE nor DELETE.
    GRANT SELECT, INSERT ON outbox.audit TO outbox_relay;
    GRANT EXECUTE ON FUNCTION outbox.purge_audit(text, bigint, bigint) TO outbox_relay;
  END IF;
END
$$;
