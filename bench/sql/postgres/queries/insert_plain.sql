-- What an application would write into the table with its own hands. Ends with the rows, one or many:
-- (id, topic, event_type, key, payload)
INSERT INTO {{table}} (id, topic, event_type, key, payload) VALUES
