-- Given back for later; the attempt is not counted. ?1 seq, ?2 lease token, ?3 wait in ms, ?4 error.
-- Index: the primary key.
UPDATE {{table}}
SET status = 'pending', attempts = max(attempts, 1) - 1, available_at = {{now}} + ?3, locked_by = NULL,
    locked_until = NULL, last_error = ?4, updated_at = {{now}}
WHERE seq = ?1 AND locked_by = ?2;
