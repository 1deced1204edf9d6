-- Deletes rows delivered longer ago than the retention, oldest first.
--
-- $1 retention in milliseconds, $2 limit
-- Index: NAME_processed, forward; then by ctid. Their deliveries: NAME_delivery_pkey;
-- their attempts: NAME_attempt_message.
WITH purged AS (
  DELETE FROM {{table}} WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM {{table}}
    WHERE processed_at IS NOT NULL AND processed_at < now() - $1::bigint * interval '1 ms'
    ORDER BY processed_at
    LIMIT $2::bigint
    FOR UPDATE SKIP LOCKED))
  RETURNING id, seq
), deliveries AS (
  DELETE FROM {{delivery}} WHERE id IN (SELECT id FROM purged)
), attempts AS (
  DELETE FROM {{attempt}} WHERE seq IN (SELECT seq FROM purged)
)
SELECT count(*) FROM purged
