-- Enforces the topic rule, and the rule for a tenant's dedupe keys, on new messages. A trigger rather
-- than a check: a check would be evaluated at each lease and settle too.
DROP TRIGGER IF EXISTS "{{name}}_tenant" ON {{table}};
DROP TRIGGER IF EXISTS "{{name}}_topic" ON {{table}};
CREATE TRIGGER "{{name}}_topic" BEFORE INSERT ON {{table}} FOR EACH ROW
  EXECUTE FUNCTION outbox.check_new_message('strict');
