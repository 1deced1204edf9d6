-- Delivered, and not kept. ?1 seq, ?2 lease token. Index: the primary key.
DELETE FROM {{table}} WHERE seq = ?1 AND locked_by = ?2;
