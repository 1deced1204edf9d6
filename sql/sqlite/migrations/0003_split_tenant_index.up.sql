-- Look-up by tenant, in two: what is not delivered, and what was. As on PostgreSQL, where the comments
-- are.
DROP INDEX {{schema}}."{{name}}_tenant";
CREATE INDEX {{schema}}."{{name}}_tenant_live" ON "{{name}}" (tenant_id, seq)
  WHERE tenant_id IS NOT NULL AND processed_at IS NULL;
CREATE INDEX {{schema}}."{{name}}_tenant_history" ON "{{name}}" (tenant_id, seq)
  WHERE tenant_id IS NOT NULL AND processed_at IS NOT NULL;
