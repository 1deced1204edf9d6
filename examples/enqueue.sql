-- Places one order from any language that can send SQL.
--
--   psql "$OUTBOX_DB" -f examples/enqueue.sql
--
-- The outbox table must exist: outboxd migrate up --db … --table orders_outbox
\set ON_ERROR_STOP on

-- [snippet enqueue]
CREATE TABLE IF NOT EXISTS orders (number int PRIMARY KEY, customer text);  -- a table of yours

BEGIN;
INSERT INTO orders (number, customer) VALUES (43, 'grace');
SELECT * FROM outbox.enqueue(
  table_name => 'orders_outbox',
  topic      => 'shop.order.placed.v1',
  payload    => '{"order": 43, "customer": "grace"}',
  key        => 'grace',
  dedupe_key => 'order-43');
COMMIT;
-- [end]
