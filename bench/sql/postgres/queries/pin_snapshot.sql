-- In a REPEATABLE READ transaction: takes a snapshot and a transaction id, so that nothing that dies
-- from now on can be vacuumed away.
SELECT pg_current_xact_id()
