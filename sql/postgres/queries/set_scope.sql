-- Names the tenant of this transaction for the policies of a table with tenant isolation
-- (common/table_isolation_on.sql), and has its statements go by the tenant's indexes, in order: what the
-- planner knows of one tenant among thousands is often wrong, and a bitmap reads all before the first row.
-- Ends with the transaction, so that the next user of a pooled session is not affected.
-- $1 tenant
SELECT set_config('outbox.tenant', $1::uuid::text, true),
       set_config('enable_seqscan', 'off', true),
       set_config('enable_bitmapscan', 'off', true),
       set_config('jit', 'off', true)
