-- Whether the table enforces the topic rule. sqlite_schema has no index; it is small.
SELECT 1 FROM "main".sqlite_schema WHERE type = 'trigger' AND name = '{{name}}_topic';
