-- A message that failed or is dead, has a dead delivery, or whose lease expired, starts anew; its last
-- error stays until the next outcome. ?1 seq. Index: the primary keys.
UPDATE {{table}}
SET status = 'pending', attempts = 0, available_at = {{now}}, locked_by = NULL, locked_until = NULL,
    processed_at = NULL, in_doubt = 0, updated_at = {{now}}
WHERE seq = ?1 AND (status = 'dead' OR (status = 'pending' AND attempts > 0)
  OR (status = 'processing' AND locked_until <= {{now}})
  OR ((locked_by = 'deliveries' OR status = 'delivered') AND EXISTS (
    SELECT 1 FROM {{delivery}} AS d WHERE d.seq = ?1 AND d.status = 'dead')));
