-- For our own sessions: statements that pass over rows somebody holds (SKIP LOCKED) expect to see what was
-- committed before each of them. A stricter default of the role or the database would make them fail
-- beside each other.
SELECT set_config('default_transaction_isolation', 'read committed', false)
