-- For how long, in ms, the message at the head of the queue has been due. Index: _claim.
SELECT {{now}} - available_at FROM {{table}}
WHERE processed_at IS NULL AND available_at <= {{now}}
ORDER BY available_at, seq
LIMIT 1;
