-- What operators changed in one table, newest first. ?1 before this number, ?2 limit, ?3 table.
-- Index: outbox_audit_table.
SELECT number, at, actor, action, table_name, filter, matched, changed, request_id
FROM "main"."outbox_audit"
WHERE table_name = ?3 AND number < ?1
ORDER BY number DESC LIMIT ?2;
