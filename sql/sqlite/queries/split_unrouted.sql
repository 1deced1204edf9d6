-- Settles a message that no route takes. ?1 seq; ?2: 0 keep, to be looked at again in a minute; 1 dead;
-- 2 dropped, as if delivered. Index: the primary key.
UPDATE {{table}}
SET status = CASE ?2 WHEN 0 THEN 'pending' WHEN 1 THEN 'dead' ELSE 'delivered' END,
    available_at = CASE ?2 WHEN 0 THEN {{now}} + 60000 WHEN 1 THEN 9223372036854775807
      ELSE available_at END,
    processed_at = CASE ?2 WHEN 2 THEN {{now}} END,
    locked_by = NULL, locked_until = NULL, in_doubt = 0,
    last_error = 'no route takes the topic ' || topic, updated_at = {{now}}
WHERE seq = ?1;
