DROP TRIGGER "{{name}}_rules" ON {{table}};
