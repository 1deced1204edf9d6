-- Removes what a table that was dropped by hand has left behind.
DROP TABLE IF EXISTS {{delivery}}, {{attempt}};
DROP DOMAIN IF EXISTS {{schema}}."{{name}}_topic";
