-- Removes what rival queues left of an earlier round. Several statements.
DROP EXTENSION IF EXISTS pgq CASCADE;
DROP SCHEMA IF EXISTS pgq, graphile_worker, pgboss_bench CASCADE
