-- Adds {{count}} messages that wait, with time-ordered ids and about 350 bytes of JSON each.
WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < {{count}})
INSERT INTO {{table}} (id, topic, event_type, key, payload)
SELECT printf('%08x-%04x-7%03x-8%03x-%012x', i >> 16, i & 65535, i & 4095, i & 4095, i),
       'orders.order.created.v1', 'OrderCreated', 'customer-' || i % 1000,
       json_object('orderId', lower(hex(randomblob(18))), 'customer', 'customer ' || i,
                   'total', i * 1.5, 'currency', 'EUR', 'note', printf('%.220c', 'x'))
FROM numbers
