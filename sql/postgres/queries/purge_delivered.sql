-- Deletes rows delivered longer ago than the retention, oldest first. One that other sinks are still to get
-- stays: it was delivered with its first success.
--
-- $1 retention in milliseconds, $2 limit
-- $3 processed_at before which an earlier call of the same round found nothing to delete
-- Returns how many, and the latest processed_at among them.
--
-- Index: NAME_processed, forward; NAME_delivery_pkey for each row, in a subquery that cannot become a join;
-- then by ctid. Their deliveries: NAME_delivery_pkey; their attempts: NAME_attempt_message.
WITH purged AS (
  DELETE FROM {{table}} WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM {{table}} AS m
    WHERE processed_at IS NOT NULL AND processed_at >= $3::timestamptz
      AND processed_at < now() - $1::bigint * interval '1 ms'
      AND (SELECT true FROM {{delivery}} AS d
           WHERE d.id = m.id AND d.status IN ('pending', 'processing') LIMIT 1) IS NULL
    ORDER BY processed_at
    LIMIT $2::bigint
    FOR UPDATE SKIP LOCKED))
  RETURNING id, seq, processed_at
), deliveries AS (
  DELETE FROM {{delivery}} WHERE id IN (SELECT id FROM purged)
), attempts AS (
  DELETE FROM {{attempt}} WHERE seq IN (SELECT seq FROM purged)
)
SELECT count(*), max(processed_at) FROM purged
