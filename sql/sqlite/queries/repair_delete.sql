-- Removes a message that nobody is delivering: any but one whose lease runs. ?1 seq.
-- Index: the primary key.
DELETE FROM {{table}} WHERE seq = ?1 AND (status IN ('pending', 'dead', 'delivered')
  OR (status = 'processing' AND locked_until <= {{now}}));
