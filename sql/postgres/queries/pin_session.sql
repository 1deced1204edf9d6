-- For our own sessions: statements that pass over rows somebody holds (SKIP LOCKED) expect to see what was
-- committed before each of them. A stricter default of the role or the database would make them fail
-- beside each other.
--
-- And the server asks after a client that says nothing, and gives up one that does not answer, within a
-- quarter of a minute: a host that vanished leaves no session behind that holds rows. Without effect on a
-- Unix socket, which has no such clients.
SELECT set_config('default_transaction_isolation', 'read committed', false),
       set_config('tcp_keepalives_idle', '5', false),
       set_config('tcp_keepalives_interval', '3', false),
       set_config('tcp_keepalives_count', '3', false),
       set_config('tcp_user_timeout', '15000', false)
