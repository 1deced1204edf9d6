-- A queue of PgQ with one consumer. Several statements.
CREATE EXTENSION pgq;
SELECT pgq.create_queue('bench');
SELECT pgq.set_queue_config('bench', 'ticker_max_lag', '100 milliseconds');
SELECT pgq.register_consumer('bench', 'bench')
