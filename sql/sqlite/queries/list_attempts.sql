-- The newest attempts at one message, newest first. ?1 seq, ?2 limit. Index: _attempt_message.
SELECT destination, attempt, worker, started_at, ended_at, result, error_class, error
FROM {{attempt}} WHERE seq = ?1 ORDER BY ended_at DESC, rowid DESC LIMIT ?2;
