-- Removes the shared objects, when no outbox table is left. Roles stay: they belong to the server, and
-- other databases may use them. So does the schema, if somebody put objects of their own there.
DROP FUNCTION outbox.enqueue_many(text, jsonb);
DROP FUNCTION outbox.enqueue(text, text, jsonb, text, uuid, text, jsonb, timestamptz, uuid, text, text,
  integer, text, text);
DROP FUNCTION IF EXISTS outbox.check_message(text, text, jsonb, text, uuid, text, jsonb, timestamptz, uuid, text, text,
  integer, text, text);
DROP FUNCTION IF EXISTS outbox.write_enqueue(), outbox.enqueue_definition(), outbox.enqueue_many_definition(),
  outbox.branches(text), outbox.checked_elements(jsonb, text, bigint), outbox.check_element(bigint, jsonb),
  outbox.members(), outbox.exceeds_double(jsonb), outbox.is_sound(text, jsonb, json, text, uuid, text,
  jsonb, timestamptz, uuid, text, text, integer, text, text),
  outbox.enqueue_any(text, text, jsonb, text, uuid, text, jsonb, timestamptz, uuid, text, text, integer, text, text);
DROP FUNCTION outbox.quoted_table(text);
DROP FUNCTION outbox.uuid_v7();
DROP FUNCTION outbox.refuse_topic(text);
DROP FUNCTION outbox.own_dedupe_key(uuid, text);
DROP FUNCTION outbox.notify_relay();
DROP FUNCTION IF EXISTS outbox.purge_audit(text, bigint, bigint);
DROP DOMAIN outbox.status, outbox.label, outbox.dedupe_key, outbox.version;
DROP DOMAIN IF EXISTS outbox.payload;
DROP TABLE IF EXISTS outbox.relay, outbox.pause, outbox.hold, outbox.leader, outbox.audit;
DROP TABLE outbox.migration;
COMMENT ON SCHEMA outbox IS NULL;

DO $$
BEGIN
  DROP SCHEMA outbox;
EXCEPTION WHEN dependent_objects_still_exist THEN
  RAISE NOTICE 'schema outbox is kept: it holds objects that are not ours';
END
$$;
