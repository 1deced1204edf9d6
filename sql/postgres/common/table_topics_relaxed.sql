-- Lets any topic of 1 to 255 bytes pass.
ALTER DOMAIN {{schema}}."{{name}}_topic" DROP CONSTRAINT IF EXISTS topic_rule;
