-- Lets any topic of 1 to 255 bytes pass; the rule for a tenant's dedupe keys stays.
DROP TRIGGER IF EXISTS "{{name}}_topic" ON {{table}};
DROP TRIGGER IF EXISTS "{{name}}_tenant" ON {{table}};
CREATE TRIGGER "{{name}}_tenant" BEFORE INSERT ON {{table}} FOR EACH ROW
  WHEN (NEW.tenant_id IS NOT NULL AND NOT starts_with(NEW.dedupe_key, NEW.tenant_id::text || '/'))
  EXECUTE FUNCTION outbox.refuse_message();
