-- Lets go of an advisory lock of this session.
-- $1 key
SELECT pg_advisory_unlock($1::bigint)
