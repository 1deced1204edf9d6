-- Adds messages that were delivered before, one every 10 ms up to now.
-- $1 first number, $2 last number, $3 how many there will be. Payloads are small to spare the disk.
INSERT INTO {{table}} (id, topic, event_type, key, payload, status, attempts, available_at, created_at,
                       updated_at, processed_at)
SELECT (lpad(to_hex(i), 12, '0') || '7' || substr(md5(i::text), 1, 3)
        || '9' || substr(md5(i::text), 4, 15))::uuid,
       'orders.order.created.v1', 'OrderCreated', 'customer-' || i % 1000,
       json_build_object('order', i), 'delivered', 1, at, at, at, at
FROM generate_series($1::bigint, $2::bigint) i,
     LATERAL (SELECT now() - ($3::bigint - i) * interval '10 ms' AS at) moment
