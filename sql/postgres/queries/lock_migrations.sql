-- Waits for, and takes, the one lock under which schemas change; until the end of the transaction.
-- $1 key
SELECT pg_advisory_xact_lock($1::bigint)
