-- Gives up waiting for a lock after a while; until the end of the transaction. Who waits for a table
-- makes everybody who comes later wait as well.
-- $1 milliseconds
SELECT set_config('lock_timeout', $1::bigint::text, true)
