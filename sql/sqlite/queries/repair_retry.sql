-- A message that failed or is dead starts anew; its last error stays until the next outcome. ?1 seq.
-- Index: the primary key.
UPDATE {{table}}
SET status = 'pending', attempts = 0, available_at = {{now}}, locked_by = NULL, locked_until = NULL,
    updated_at = {{now}}
WHERE seq = ?1 AND (status = 'dead' OR (status = 'pending' AND attempts > 0));
