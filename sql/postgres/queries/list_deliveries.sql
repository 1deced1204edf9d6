-- The deliveries of one message.
--
-- $1 id, $2 tenant (null does not limit)
-- Index: NAME_delivery_pkey; NAME_pkey.
SELECT destination, status, attempts, available_at, last_error, updated_at, processed_at
FROM {{delivery}} AS d
WHERE id = $1::uuid AND ($2::uuid IS NULL OR EXISTS (
  SELECT FROM {{table}} AS m WHERE m.id = d.id AND (m.tenant_id = $2) IS TRUE))
ORDER BY destination
