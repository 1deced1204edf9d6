-- For how long, in ms, the oldest message that could be claimed now has been due: leased ones are not
-- waiting. Index: _claim.
SELECT {{now}} - available_at FROM {{table}}
WHERE processed_at IS NULL AND available_at <= {{now}}
  AND (locked_until IS NULL OR locked_until <= {{now}})
ORDER BY available_at, seq
LIMIT 1;
