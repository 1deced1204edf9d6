-- Drops a message that no route takes, where delivered rows are not kept.
-- ?1 seq. Index: the primary key.
DELETE FROM {{table}} WHERE seq = ?1;
