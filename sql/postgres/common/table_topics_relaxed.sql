-- Lets any topic of 1 to 255 bytes pass.
DROP TRIGGER IF EXISTS "{{name}}_topic" ON {{table}};
