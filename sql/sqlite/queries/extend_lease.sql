-- Heartbeat of one message. ?1 seq, ?2 lease token, ?3 lease in ms from now. updated_at stays: it says
-- when the row was claimed.
-- Index: the primary key.
UPDATE {{table}} SET locked_until = {{now}} + ?3
WHERE seq = ?1 AND locked_by = ?2;
