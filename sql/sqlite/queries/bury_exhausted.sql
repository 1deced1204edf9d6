-- Turns a message dead that was claimed after its last allowed attempt, and takes that claim's
-- attempt back. ?1 seq, ?2 lease token. Index: the primary key.
UPDATE {{table}}
SET status = 'dead', attempts = attempts - 1, available_at = 9223372036854775807, locked_by = NULL,
    locked_until = NULL, in_doubt = 0, updated_at = {{now}},
    last_error = 'gave up after ' || (attempts - 1) || ' attempts: the last one ended without an'
      || ' outcome (its relay crashed or lost its lease)'
      || CASE WHEN last_error IS NULL THEN '' ELSE '; before that: ' || last_error END
WHERE seq = ?1 AND locked_by = ?2;
