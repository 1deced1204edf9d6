-- What the shared objects say of themselves; see shared_schema.sql. No row: not there.
SELECT obj_description(oid, 'pg_namespace') FROM pg_catalog.pg_namespace WHERE nspname = 'outbox'
