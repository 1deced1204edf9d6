-- The deliveries of one message.
--
-- $1 id
-- Index: NAME_delivery_pkey.
SELECT destination, status, attempts, available_at, last_error, updated_at, processed_at
FROM {{delivery}} WHERE id = $1::uuid ORDER BY destination
