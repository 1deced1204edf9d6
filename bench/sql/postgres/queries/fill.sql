-- Adds messages that wait, with time-ordered ids and about 350 bytes of JSON each, as an application
-- that enqueues through the library leaves them.
-- $1 how many
INSERT INTO {{table}} (id, topic, event_type, key, payload)
SELECT (lpad(to_hex(i), 12, '0') || '7' || substr(md5(i::text), 1, 3)
        || '8' || substr(md5(i::text), 4, 15))::uuid,
       'orders.order.created.v1', 'OrderCreated', 'customer-' || i % 1000,
       json_build_object('orderId', gen_random_uuid(), 'customer', 'customer ' || i,
                         'total', i * 1.5, 'currency', 'EUR', 'note', repeat('x', 220))
FROM generate_series(1, $1::bigint) i
