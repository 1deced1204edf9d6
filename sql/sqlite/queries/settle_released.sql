-- Given back; the attempt is not counted. ?1 seq, ?2 lease token. Index: the primary key.
UPDATE {{table}}
SET status = 'pending', attempts = max(attempts, 1) - 1, locked_by = NULL, locked_until = NULL,
    updated_at = {{now}}
WHERE seq = ?1 AND locked_by = ?2;
