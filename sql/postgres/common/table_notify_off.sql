-- Commits notify nobody; relays find new messages by polling.
DROP TRIGGER IF EXISTS "{{name}}_notify" ON {{table}};
