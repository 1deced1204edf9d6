-- Completes messages all of whose deliveries are decided; with `any`, also those that have one success.
-- Their attempts become the most that one of the deliveries took. One whose deliveries somebody deleted is
-- dead.
-- To be run after the deliveries' outcomes were committed: of two that end at the same time, the one
-- that commits last then sees both.
--
-- $1 ids
-- $2 any              true: one success is enough; false: all must succeed
-- $3 keep_delivered   false: delivered messages are deleted, once nothing is open any more
-- $4 last_error may have so many bytes; a character has one to four
--
-- Index: NAME_pkey and NAME_delivery_pkey; then by ctid.
-- Locks: only messages that are complete. One that somebody else is completing is skipped.
WITH complete AS MATERIALIZED (
  SELECT m.ctid AS address, d.open, d.delivered > 0 AND ($2::boolean OR d.dead = 0) AS success,
    d.attempts, coalesce(d.error, 'no deliveries are left') AS error
  FROM {{table}} AS m
  CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE status IN ('pending', 'processing')) AS open,
      count(*) FILTER (WHERE status = 'delivered') AS delivered,
      count(*) FILTER (WHERE status = 'dead') AS dead,
      coalesce(max(attempts), 0) AS attempts,
      string_agg(destination || ': ' || last_error, '; ' ORDER BY destination)
        FILTER (WHERE status = 'dead') AS error
    FROM {{delivery}} WHERE id = m.id) AS d
  WHERE m.id = ANY ($1::uuid[]) AND m.locked_by = 'deliveries'
    AND (d.open = 0 OR ($2 AND $3::boolean AND d.delivered > 0 AND m.processed_at IS NULL))
  FOR UPDATE OF m SKIP LOCKED
), deleted AS (
  DELETE FROM {{table}} WHERE ctid = ANY (ARRAY(
    SELECT address FROM complete WHERE success AND open = 0 AND NOT $3))
  RETURNING id
), gone AS (
  DELETE FROM {{delivery}} WHERE id IN (SELECT id FROM deleted)
), updated AS (
  UPDATE {{table}} AS m SET
    status = CASE WHEN c.success THEN 'delivered' ELSE 'dead' END,
    available_at = CASE WHEN c.success THEN m.available_at ELSE 'infinity' END,
    processed_at = CASE WHEN c.success THEN now() END,
    locked_by = NULL,
    attempts = c.attempts,
    last_error = CASE WHEN NOT c.success
      THEN left(c.error, greatest(2 * $4::integer - octet_length(left(c.error, $4)), $4 / 4)) END,
    updated_at = now()
  FROM complete AS c
  WHERE m.ctid = c.address AND NOT (c.success AND NOT $3)
  RETURNING 1
)
SELECT (SELECT count(*) FROM deleted) + (SELECT count(*) FROM updated)
