-- Takes the mark of mark_session.sql away.
-- $1 number
SELECT pg_advisory_unlock_shared($1::bigint)
