-- The deliveries of one message. ?1 seq. Index: the primary key.
SELECT destination, status, attempts, available_at, last_error, updated_at, processed_at
FROM {{delivery}} WHERE seq = ?1 ORDER BY destination;
