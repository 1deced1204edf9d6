-- What processes and operators tell each other through the database: which relays run, which are paused,
-- and what operators changed. Safe to run again.
CREATE TABLE IF NOT EXISTS "main"."outbox_relay" (
  process     TEXT    NOT NULL,
  table_name  TEXT    NOT NULL,
  sink        TEXT    NOT NULL,  -- empty: the table's only one
  host        TEXT    NOT NULL,
  pid         INTEGER NOT NULL,
  version     TEXT    NOT NULL,
  state       TEXT    NOT NULL,
  leads       INTEGER,           -- null: not in single-active mode
  in_flight   INTEGER NOT NULL,
  delivered   INTEGER NOT NULL,
  failed      INTEGER NOT NULL,
  interval_ms INTEGER NOT NULL,
  started_at  INTEGER NOT NULL,
  beat_at     INTEGER NOT NULL,
  PRIMARY KEY (process, table_name, sink)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS "main"."outbox_pause" (
  table_name TEXT    NOT NULL,
  sink       TEXT    NOT NULL,  -- empty: all of the table's
  since      INTEGER NOT NULL,
  paused_by  TEXT    NOT NULL,
  reason     TEXT    NOT NULL,
  PRIMARY KEY (table_name, sink)
) WITHOUT ROWID;

-- Only ever added to, until it is old.
CREATE TABLE IF NOT EXISTS "main"."outbox_audit" (
  number     INTEGER PRIMARY KEY AUTOINCREMENT,
  at         INTEGER NOT NULL,
  actor      TEXT    NOT NULL,
  action     TEXT    NOT NULL,
  table_name TEXT    NOT NULL,
  filter     TEXT    NOT NULL CHECK (json_valid(filter)),
  matched    INTEGER NOT NULL,
  changed    INTEGER NOT NULL,
  request_id TEXT    NOT NULL
);
CREATE INDEX IF NOT EXISTS "main"."outbox_audit_table" ON "outbox_audit" (table_name, number);
