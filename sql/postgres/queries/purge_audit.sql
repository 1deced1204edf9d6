-- Deletes audit records of a table that are older than the retention.
-- $1 table, $2 retention in milliseconds, $3 limit
-- Index: audit_table, forward, and audit_pkey; see shared_audit.sql.
SELECT outbox.purge_audit($1::text, $2::bigint, $3::bigint)
