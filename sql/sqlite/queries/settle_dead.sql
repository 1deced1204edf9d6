-- Failed for good. ?1 seq, ?2 lease token, ?3 error. Index: the primary key.
UPDATE {{table}}
SET status = 'dead', available_at = 9223372036854775807, locked_by = NULL, locked_until = NULL,
    last_error = ?3, in_doubt = 0, updated_at = {{now}}
WHERE seq = ?1 AND locked_by = ?2;
