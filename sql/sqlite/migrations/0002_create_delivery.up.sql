-- Deliveries: one row for each destination of a message that goes to several. The same structure and
-- meaning as on PostgreSQL, where the comments are.
CREATE TABLE {{delivery}} (
  seq          INTEGER NOT NULL,
  destination  TEXT    NOT NULL CHECK (length(destination) BETWEEN 1 AND 64),
  order_key    TEXT,
  order_waits  INTEGER NOT NULL DEFAULT 0,
  status       TEXT    NOT NULL DEFAULT 'pending'
               CHECK (status IN ('pending', 'processing', 'delivered', 'dead')),
  attempts     INTEGER NOT NULL DEFAULT 0,
  available_at INTEGER NOT NULL
               DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER)),
  locked_by    TEXT,
  locked_until INTEGER,
  last_error   TEXT,
  created_at   INTEGER NOT NULL
               DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER)),
  updated_at   INTEGER NOT NULL
               DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER)),
  processed_at INTEGER,
  PRIMARY KEY (seq, destination)
) WITHOUT ROWID;

-- Claim, backlog and dead of one destination.
CREATE INDEX {{schema}}."{{name}}_delivery_claim" ON "{{name}}_delivery"
  (destination, available_at, seq) WHERE processed_at IS NULL;
-- Who goes first; rows without an order cost nothing.
CREATE INDEX {{schema}}."{{name}}_delivery_order" ON "{{name}}_delivery"
  (destination, order_key, seq) WHERE processed_at IS NULL AND order_key IS NOT NULL;
-- Deleting a message takes its deliveries along. A foreign key would do so only on connections that
-- ask for it.
CREATE TRIGGER {{schema}}."{{name}}_delivery_cascade" AFTER DELETE ON "{{name}}"
BEGIN
  DELETE FROM "{{name}}_delivery" WHERE seq = old.seq;
END;
