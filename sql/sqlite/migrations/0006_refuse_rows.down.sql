DROP TRIGGER {{schema}}."{{name}}_rules";
