-- Enforces the topic rule on new messages; what was let in before stays as it is (NOT VALID).
ALTER DOMAIN {{schema}}."{{name}}_topic" DROP CONSTRAINT IF EXISTS topic_rule;
ALTER DOMAIN {{schema}}."{{name}}_topic" ADD CONSTRAINT topic_rule CHECK (
  VALUE ~ '^[a-z0-9-]+\.[a-z0-9-]+\.[a-z0-9-]+\.v[1-9][0-9]*$' AND octet_length(VALUE) < 128
  OR outbox.refuse_topic(VALUE)) NOT VALID;
