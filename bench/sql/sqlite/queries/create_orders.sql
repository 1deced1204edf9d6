-- The business table of the enqueue scenario: what an application would write anyway.
CREATE TABLE orders (
  id         INTEGER PRIMARY KEY,
  customer   TEXT NOT NULL,
  total      REAL NOT NULL,
  created_at INTEGER NOT NULL DEFAULT (unixepoch())
)
