-- An outbox table. The same structure for every module.
--
-- The row is updated in place while it is leased: status, attempts, locked_by, locked_until and
-- updated_at are in no index (nor in an index's predicate), so that leasing and releasing are HOT
-- updates that rewrite no index, and the fillfactor leaves room for them on the page.
--
-- A dead row keeps processed_at null and has available_at = infinity: it stays in the claim index,
-- at the far end, where the claim never looks and operators find it at once.
--
-- No check constraints and no trigger: the domains of the columns, and the last column of the index of
-- dedupe keys, hold the rules at a fraction of the cost. The topic has a domain of the table's own,
-- whose rule can be relaxed.
CREATE DOMAIN {{schema}}."{{name}}_topic" AS text CONSTRAINT topic_has_1_to_255_bytes
  CHECK (octet_length(VALUE) BETWEEN 1 AND 255);

CREATE TABLE {{table}} (
  id             uuid              NOT NULL,
  seq            bigint            NOT NULL GENERATED ALWAYS AS IDENTITY (CACHE 1),
  namespace      outbox.label      NOT NULL DEFAULT '',
  topic          {{schema}}."{{name}}_topic" NOT NULL,
  event_type     outbox.label,
  event_version  outbox.version    NOT NULL DEFAULT 1,
  aggregate_type outbox.label,
  aggregate_id   outbox.label,
  key            outbox.label,
  tenant_id      uuid,
  dedupe_key     outbox.dedupe_key,
  payload        outbox.payload    NOT NULL,
  headers        json,
  status         outbox.status     NOT NULL DEFAULT 'pending',
  attempts       integer           NOT NULL DEFAULT 0,
  available_at   timestamptz       NOT NULL DEFAULT clock_timestamp(),
  locked_by      text,
  locked_until   timestamptz,
  last_error     text,
  created_at     timestamptz       NOT NULL DEFAULT clock_timestamp(),
  updated_at     timestamptz       NOT NULL DEFAULT clock_timestamp(),
  processed_at   timestamptz,
  CONSTRAINT "{{name}}_pkey" PRIMARY KEY (id)
) WITH (
  fillfactor = 45,
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 50000,
  autovacuum_analyze_scale_factor = 0.1, autovacuum_vacuum_cost_delay = 0
);

-- Claim, backlog, dead letters.
CREATE INDEX "{{name}}_claim" ON {{table}} (available_at, seq) WHERE processed_at IS NULL;
-- Cleaning and delivered history.
CREATE INDEX "{{name}}_processed" ON {{table}} (processed_at) WHERE processed_at IS NOT NULL;
-- Idempotent enqueue; rows without a key cost nothing. The last column is always true.
CREATE UNIQUE INDEX "{{name}}_dedupe" ON {{table}} (
  namespace, topic, dedupe_key, outbox.own_dedupe_key(tenant_id, dedupe_key)
) WHERE dedupe_key IS NOT NULL;
-- Look-up by tenant, and the history of one aggregate.
CREATE INDEX "{{name}}_tenant" ON {{table}} (tenant_id, seq) WHERE tenant_id IS NOT NULL;
CREATE INDEX "{{name}}_aggregate" ON {{table}} (aggregate_type, aggregate_id, seq)
  WHERE aggregate_id IS NOT NULL;
