-- Lets any topic of 1 to 255 bytes pass; the rule for a tenant's dedupe keys stays.
DROP TRIGGER IF EXISTS "{{name}}_topic" ON {{table}};
DROP TRIGGER IF EXISTS "{{name}}_tenant" ON {{table}};
CREATE TRIGGER "{{name}}_tenant" BEFORE INSERT ON {{table}} FOR EACH ROW
  EXECUTE FUNCTION outbox.check_new_message('relaxed');
