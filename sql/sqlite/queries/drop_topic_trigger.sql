-- Relaxes the topic rule.
DROP TRIGGER IF EXISTS {{schema}}."{{name}}_topic";
