-- Marks a message as split: what becomes of it is now up to its deliveries.
-- ?1 seq. Index: the primary key.
UPDATE {{table}}
SET status = 'processing', available_at = 9223372036854775806, locked_by = 'deliveries',
    locked_until = NULL, in_doubt = 0, updated_at = {{now}}
WHERE seq = ?1;
