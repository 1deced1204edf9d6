-- What operators changed in one table, newest first.
-- $1 before this number (null: from the newest), $2 limit, $3 table
-- Index: audit_table.
SELECT number, at, actor, action, table_name, filter, matched, changed, request_id
FROM outbox.audit
WHERE table_name = $3::text AND ($1::bigint IS NULL OR number < $1)
ORDER BY number DESC LIMIT $2::bigint
