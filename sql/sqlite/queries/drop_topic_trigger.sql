-- Relaxes the topic rule.
DROP TRIGGER {{schema}}."{{name}}_topic";
