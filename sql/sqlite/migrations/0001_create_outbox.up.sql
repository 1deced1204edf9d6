-- An outbox table. The same structure and meaning as on PostgreSQL; times are whole milliseconds
-- since 1970 (UTC), ids are lower-case UUID text.
--
-- A dead row keeps processed_at null and has the largest available_at: it stays in the claim index,
-- at the far end, where the claim never looks and operators find it at once.
CREATE TABLE {{table}} (
  seq            INTEGER PRIMARY KEY AUTOINCREMENT,
  id             TEXT    NOT NULL CHECK (length(id) = 36),
  namespace      TEXT    NOT NULL DEFAULT '',
  topic          TEXT    NOT NULL,
  event_type     TEXT,
  event_version  INTEGER NOT NULL DEFAULT 1 CHECK (event_version >= 1),
  aggregate_type TEXT,
  aggregate_id   TEXT,
  key            TEXT,
  tenant_id      TEXT,
  dedupe_key     TEXT CHECK (tenant_id IS NULL OR dedupe_key IS NULL
                             OR substr(dedupe_key, 1, 37) = tenant_id || '/'),
  payload        TEXT    NOT NULL CHECK (json_valid(payload)),
  headers        TEXT,
  status         TEXT    NOT NULL DEFAULT 'pending'
                 CHECK (status IN ('pending', 'processing', 'delivered', 'dead')),
  attempts       INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  available_at   INTEGER NOT NULL
                 DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER)),
  locked_by      TEXT,
  locked_until   INTEGER,
  last_error     TEXT,
  created_at     INTEGER NOT NULL
                 DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER)),
  updated_at     INTEGER NOT NULL
                 DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER)),
  processed_at   INTEGER
);

CREATE UNIQUE INDEX {{schema}}."{{name}}_id" ON "{{name}}" (id);
-- Claim, backlog, dead letters.
CREATE INDEX {{schema}}."{{name}}_claim" ON "{{name}}" (available_at, seq) WHERE processed_at IS NULL;
-- Cleaning and delivered history.
CREATE INDEX {{schema}}."{{name}}_processed" ON "{{name}}" (processed_at)
  WHERE processed_at IS NOT NULL;
-- Idempotent enqueue; rows without a key cost nothing.
CREATE UNIQUE INDEX {{schema}}."{{name}}_dedupe" ON "{{name}}" (namespace, topic, dedupe_key)
  WHERE dedupe_key IS NOT NULL;
-- Look-up by tenant, and the history of one aggregate.
CREATE INDEX {{schema}}."{{name}}_tenant" ON "{{name}}" (tenant_id, seq) WHERE tenant_id IS NOT NULL;
CREATE INDEX {{schema}}."{{name}}_aggregate" ON "{{name}}" (aggregate_type, aggregate_id, seq)
  WHERE aggregate_id IS NOT NULL;
