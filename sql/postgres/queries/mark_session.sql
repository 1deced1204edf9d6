-- Marks this session as one of a leader, by an advisory lock under its own number: while the lock is there
-- the leader's process is. Shared, since it has several sessions.
-- $1 number
SELECT pg_try_advisory_lock_shared($1::bigint)
