-- Look-up by tenant, in two: what is not delivered, and what was. A row is in one of them at a time, and
-- being delivered rewrites its index entries anyway; so two cost no more than the one they replace.
-- Backlog, dead letters and counts of one tenant do not lead through its history.
DROP INDEX {{schema}}."{{name}}_tenant";
CREATE INDEX "{{name}}_tenant_live" ON {{table}} (tenant_id, seq)
  WHERE tenant_id IS NOT NULL AND processed_at IS NULL;
CREATE INDEX "{{name}}_tenant_history" ON {{table}} (tenant_id, seq)
  WHERE tenant_id IS NOT NULL AND processed_at IS NOT NULL;
