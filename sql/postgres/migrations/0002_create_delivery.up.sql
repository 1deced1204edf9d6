-- Deliveries: one row for each destination of a message that goes to several. The columns of state
-- are those of an outbox table and mean the same, so that the same statements claim and settle them.
--
-- While its deliveries are under way the message itself is `processing`, locked_by 'deliveries', and
-- available_at stands at the end of time, out of the claim's way.
--
-- order_key is set where the deliveries of one key go in order: a later one is not claimed while an
-- earlier one to the same destination is open, or dead and order_waits.
--
-- No foreign key: it would cost each message that is deleted a look-up. What deletes messages deletes
-- their deliveries.
CREATE TABLE {{delivery}} (
  id           uuid          NOT NULL,
  destination  outbox.label  NOT NULL,
  seq          bigint        NOT NULL,
  order_key    outbox.label,
  order_waits  boolean       NOT NULL DEFAULT false,
  status       outbox.status NOT NULL DEFAULT 'pending',
  attempts     integer       NOT NULL DEFAULT 0,
  available_at timestamptz   NOT NULL DEFAULT clock_timestamp(),
  locked_by    text,
  locked_until timestamptz,
  last_error   text,
  created_at   timestamptz   NOT NULL DEFAULT clock_timestamp(),
  updated_at   timestamptz   NOT NULL DEFAULT clock_timestamp(),
  processed_at timestamptz,
  CONSTRAINT "{{name}}_delivery_pkey" PRIMARY KEY (id, destination)
) WITH (
  fillfactor = 45,
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 50000,
  autovacuum_analyze_scale_factor = 0.1, autovacuum_vacuum_cost_delay = 0
);

-- Claim, backlog and dead of one destination.
CREATE INDEX "{{name}}_delivery_claim" ON {{delivery}} (destination, available_at, seq)
  WHERE processed_at IS NULL;
-- Who goes first; rows without an order cost nothing.
CREATE INDEX "{{name}}_delivery_order" ON {{delivery}} (destination, order_key, seq)
  WHERE processed_at IS NULL AND order_key IS NOT NULL;
