-- Takes an advisory lock for this session, if it is free.
-- $1 key
SELECT pg_try_advisory_lock($1::bigint)
