-- Removes a message that was not delivered and is not being delivered. ?1 seq.
-- Index: the primary key.
DELETE FROM {{table}} WHERE seq = ?1 AND status IN ('pending', 'dead');
