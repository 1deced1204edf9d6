-- Delivered, and kept as history. ?1 seq, ?2 lease token. Index: the primary key.
UPDATE {{table}}
SET status = 'delivered', processed_at = {{now}}, locked_by = NULL, locked_until = NULL,
    last_error = NULL, in_doubt = 0, updated_at = {{now}}
WHERE seq = ?1 AND locked_by = ?2;
