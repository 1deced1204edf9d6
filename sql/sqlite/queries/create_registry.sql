-- Which migrations were applied to which table.
CREATE TABLE IF NOT EXISTS "main"."outbox_migration" (
  table_name TEXT    NOT NULL,
  number     INTEGER NOT NULL,
  name       TEXT    NOT NULL,
  applied_at INTEGER NOT NULL
             DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER)),
  PRIMARY KEY (table_name, number)
) WITHOUT ROWID;
