-- Wakes listening relays at each commit that enqueued something.
DROP TRIGGER IF EXISTS "{{name}}_notify" ON {{table}};
CREATE TRIGGER "{{name}}_notify" AFTER INSERT ON {{table}} FOR EACH STATEMENT
  EXECUTE FUNCTION outbox.notify_relay('{{channel}}');
