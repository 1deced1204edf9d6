-- The session's process, the bytes of WAL written so far, the bytes of this database.
SELECT pg_backend_pid(), pg_current_wal_insert_lsn() - '0/0'::pg_lsn, pg_database_size(current_database())
