DROP INDEX {{schema}}."{{name}}_tenant_history";
DROP INDEX {{schema}}."{{name}}_tenant_live";
CREATE INDEX {{schema}}."{{name}}_tenant" ON "{{name}}" (tenant_id, seq) WHERE tenant_id IS NOT NULL;
