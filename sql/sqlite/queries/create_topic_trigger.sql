-- The strict topic rule: <module>.<aggregate>.<event>.vN of [a-z0-9-], under 128 characters.
-- A trigger, because SQLite can neither add nor drop a CHECK. With exactly three dots in the topic
-- no ?* of the pattern can span one.
CREATE TRIGGER {{schema}}."{{name}}_topic" BEFORE INSERT ON "{{name}}"
WHEN NOT (
  length(NEW.topic) < 128
  AND NEW.topic NOT GLOB '*[^a-z0-9.-]*'
  AND length(NEW.topic) - length(replace(NEW.topic, '.', '')) = 3
  AND NEW.topic GLOB '?*.?*.?*.v[1-9]*'
  AND rtrim(NEW.topic, '0123456789') GLOB '*.v')
BEGIN
  SELECT RAISE(ABORT, 'topic: does not follow <module>.<aggregate>.<event>.vN of [a-z0-9-], under 128 characters');
END;
