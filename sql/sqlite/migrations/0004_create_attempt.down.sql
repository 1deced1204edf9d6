DROP TRIGGER {{schema}}."{{name}}_attempt_cascade";
DROP TABLE {{attempt}};
