-- What an operator changed, in the transaction of the change.
-- $1 actor, $2 action, $3 table, $4 filter, $5 matched, $6 changed, $7 request id
-- Index: audit_pkey, audit_table.
INSERT INTO outbox.audit (actor, action, table_name, filter, matched, changed, request_id)
VALUES ($1::text, $2::text, $3::text, $4::json, $5::bigint, $6::bigint, $7::text)
