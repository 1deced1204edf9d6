-- Notes what becomes of an attempt, before its row is settled: a row that is no longer ours is not
-- noted. ?1 seq, ?2 lease token, ?3 destination, ?4 worker, ?5 result, ?6 error class or NULL,
-- ?7 error or NULL. Index: the primary key.
INSERT INTO {{attempt}}
  (seq, destination, attempt, worker, started_at, ended_at, result, error_class, error)
SELECT seq, ?3, attempts, ?4, updated_at, {{now}}, ?5, ?6, ?7
FROM {{table}} WHERE seq = ?1 AND locked_by = ?2;
