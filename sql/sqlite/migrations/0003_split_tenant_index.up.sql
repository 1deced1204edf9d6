-- Look-up by tenant, in two: what is not delivered, and what was. As on PostgreSQL, where the comments
-- are. processed_at lets a count do with the index alone: SQLite looks at it although the index implies
-- the answer.
DROP INDEX {{schema}}."{{name}}_tenant";
CREATE INDEX {{schema}}."{{name}}_tenant_live" ON "{{name}}" (tenant_id, seq, processed_at)
  WHERE tenant_id IS NOT NULL AND processed_at IS NULL;
CREATE INDEX {{schema}}."{{name}}_tenant_history" ON "{{name}}" (tenant_id, seq, processed_at)
  WHERE tenant_id IS NOT NULL AND processed_at IS NOT NULL;
