-- Deletes rows that died longer ago than the retention. One that a sink is still to get stays.
--
-- $1 retention in milliseconds, $2 limit
-- Index: NAME_claim, from its far end where the dead stand; NAME_delivery_pkey for each row; then by ctid.
-- Their deliveries: NAME_delivery_pkey; their attempts: NAME_attempt_message.
WITH purged AS (
  DELETE FROM {{table}} WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM {{table}} AS m
    WHERE processed_at IS NULL AND available_at = 'infinity' AND status = 'dead'
      AND updated_at < now() - $1::bigint * interval '1 ms'
      AND (SELECT true FROM {{delivery}} AS d
           WHERE d.id = m.id AND d.status IN ('pending', 'processing') LIMIT 1) IS NULL
    ORDER BY seq
    LIMIT $2::bigint
    FOR UPDATE SKIP LOCKED))
  RETURNING id, seq
), deliveries AS (
  DELETE FROM {{delivery}} WHERE id IN (SELECT id FROM purged)
), attempts AS (
  DELETE FROM {{attempt}} WHERE seq IN (SELECT seq FROM purged)
)
SELECT count(*) FROM purged
