DROP TABLE {{table}};
DROP DOMAIN {{schema}}."{{name}}_topic";
