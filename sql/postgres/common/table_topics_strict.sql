-- Enforces the topic rule, and the rule for a tenant's dedupe keys, on new messages. A trigger rather
-- than a check: a check would be evaluated at each lease and settle too. WHEN is evaluated by the
-- executor; the function runs on refusal only.
DROP TRIGGER IF EXISTS "{{name}}_tenant" ON {{table}};
DROP TRIGGER IF EXISTS "{{name}}_topic" ON {{table}};
CREATE TRIGGER "{{name}}_topic" BEFORE INSERT ON {{table}} FOR EACH ROW
  WHEN (NOT (NEW.topic ~ '^[a-z0-9-]+\.[a-z0-9-]+\.[a-z0-9-]+\.v[1-9][0-9]*$' AND octet_length(NEW.topic) < 128)
    OR NEW.tenant_id IS NOT NULL AND NOT starts_with(NEW.dedupe_key, NEW.tenant_id::text || '/'))
  EXECUTE FUNCTION outbox.refuse_message();
