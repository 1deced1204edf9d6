-- What an operator changed, in the transaction of the change. ?1 actor, ?2 action, ?3 table, ?4 filter,
-- ?5 matched, ?6 changed, ?7 request id. Index: the primary key, outbox_audit_table.
INSERT INTO "main"."outbox_audit" (at, actor, action, table_name, filter, matched, changed, request_id)
VALUES ({{now}}, ?1, ?2, ?3, ?4, ?5, ?6, ?7);
