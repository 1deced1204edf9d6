DROP INDEX {{schema}}."{{name}}_tenant_history";
DROP INDEX {{schema}}."{{name}}_tenant_live";
CREATE INDEX "{{name}}_tenant" ON {{table}} (tenant_id, seq) WHERE tenant_id IS NOT NULL;
