-- The seq of the row that is so many rows on in list_tenant.sql: where a call stops looking at rows, and
-- where the page of a number starts.
--
-- $1 tenant
-- $2 after            seq
-- $3 rows
-- $4, $5              whether what is not delivered, and what was, is wanted
-- Index: NAME_tenant_live and NAME_tenant_history, backward, alone, merged.
SELECT seq FROM (
  (SELECT seq FROM {{table}}
   WHERE $4::boolean AND tenant_id = $1::uuid AND processed_at IS NULL AND seq < $2::bigint
   ORDER BY seq DESC LIMIT $3::bigint)
  UNION ALL
  (SELECT seq FROM {{table}}
   WHERE $5::boolean AND tenant_id = $1 AND processed_at IS NOT NULL AND seq < $2
   ORDER BY seq DESC LIMIT $3)
) AS passed
ORDER BY seq DESC
OFFSET $3 - 1 LIMIT 1
