-- What processes and operators tell each other through the database: which relays run, which are paused,
-- and what operators changed. Safe to run again.

-- One row a relay of a process, written anew with each heartbeat. Only beat_at and the counters change, and
-- neither is in an index: with room in the page each heartbeat is a HOT update.
CREATE TABLE IF NOT EXISTS outbox.relay (
  process     text        NOT NULL,
  table_name  text        NOT NULL,
  sink        text        NOT NULL,  -- empty: the table's only one
  host        text        NOT NULL,
  pid         integer     NOT NULL,
  version     text        NOT NULL,
  state       text        NOT NULL,
  leads       boolean,               -- null: not in single-active mode
  in_flight   bigint      NOT NULL,
  delivered   bigint      NOT NULL,
  failed      bigint      NOT NULL,
  interval_ms bigint      NOT NULL,
  started_at  timestamptz NOT NULL DEFAULT now(),
  beat_at     timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT relay_pkey PRIMARY KEY (process, table_name, sink)
) WITH (fillfactor = 50);

CREATE TABLE IF NOT EXISTS outbox.pause (
  table_name text        NOT NULL,
  sink       text        NOT NULL,  -- empty: all of the table's
  since      timestamptz NOT NULL DEFAULT now(),
  paused_by  text        NOT NULL,
  reason     text        NOT NULL,
  CONSTRAINT pause_pkey PRIMARY KEY (table_name, sink)
);

-- A pause used to be called a hold: moves what an older version left.
DO $$
BEGIN
  IF to_regclass('outbox.hold') IS NOT NULL THEN
    INSERT INTO outbox.pause (table_name, sink, since, paused_by, reason)
    SELECT table_name, sink, since, held_by, reason FROM outbox.hold ON CONFLICT DO NOTHING;
    DROP TABLE outbox.hold;
  END IF;
END $$;

-- Who leads a table, or its deliveries to one destination, in single-active mode; and the rows by whose
-- lock processes take turns at splitting. Only relays may write here: nobody else can keep one from leading.
-- No index but the key: with room in the page each renewal is a HOT update.
CREATE TABLE IF NOT EXISTS outbox.leader (
  name         text        NOT NULL,
  token        text        NOT NULL,
  session_mark bigint,               -- null: only the lease tells whether the leader lives
  ends_at      timestamptz NOT NULL,
  renewed_at   timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT leader_pkey PRIMARY KEY (name)
) WITH (fillfactor = 50);

-- Only ever added to; what is old is removed by outbox.purge_audit.
CREATE TABLE IF NOT EXISTS outbox.audit (
  number     bigint      GENERATED ALWAYS AS IDENTITY,
  at         timestamptz NOT NULL DEFAULT now(),
  actor      text        NOT NULL,
  action     text        NOT NULL,
  table_name text        NOT NULL,
  filter     json        NOT NULL,
  matched    bigint      NOT NULL,
  changed    bigint      NOT NULL,
  request_id text        NOT NULL,
  CONSTRAINT audit_pkey PRIMARY KEY (number)
);
CREATE INDEX IF NOT EXISTS audit_table ON outbox.audit (table_name, number);
