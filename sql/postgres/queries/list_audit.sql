-- What operators changed, newest first.
-- $1 before this number (null: from the newest), $2 limit
-- Index: audit_pkey.
SELECT number, at, actor, action, table_name, filter, matched, changed, request_id
FROM outbox.audit
WHERE ($1::bigint IS NULL OR number < $1)
ORDER BY number DESC LIMIT $2::bigint
