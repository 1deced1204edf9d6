-- The seq of the row so many rows on in list_tenant.sql: where the page of a number starts.
-- ?1 tenant, ?2 rows, ?3 and ?4 whether what is not delivered, and what was, is wanted.
-- Index: _tenant_live and _tenant_history, alone, merged.
SELECT seq FROM {{table}} WHERE ?3 AND tenant_id = ?1 AND processed_at IS NULL
UNION ALL
SELECT seq FROM {{table}} WHERE ?4 AND tenant_id = ?1 AND processed_at IS NOT NULL
ORDER BY seq DESC
LIMIT 1 OFFSET ?2 - 1;
