-- The audit: the event of every order that was committed. Reads the whole table, once.
SELECT event_id FROM {{table}}
