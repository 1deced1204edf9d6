DROP TRIGGER {{schema}}."{{name}}_delivery_cascade";
DROP TABLE {{delivery}};
