-- Removes a message that was not delivered and is not being delivered: nobody has a lease on it that
-- did not expire. ?1 seq.
-- Index: the primary key.
DELETE FROM {{table}} WHERE seq = ?1 AND (status IN ('pending', 'dead')
  OR (status = 'processing' AND locked_until <= {{now}}));
