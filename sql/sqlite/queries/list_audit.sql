-- What operators changed, newest first. ?1 before this number, ?2 limit. Index: the primary key.
SELECT number, at, actor, action, table_name, filter, matched, changed, request_id
FROM "main"."outbox_audit"
WHERE number < ?1
ORDER BY number DESC LIMIT ?2;
