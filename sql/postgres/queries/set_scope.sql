-- Names the tenant of this transaction for the policies of a table with tenant isolation
-- (common/table_isolation_on.sql). Ends with the transaction, so that the next user of a pooled session is
-- not affected.
-- $1 tenant
SELECT set_config('outbox.tenant', $1::uuid::text, true)
