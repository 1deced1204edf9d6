-- Looks at some attempts and deletes those whose message is gone.
--
-- $1 seq after which to look, $2 limit
-- Index: NAME_attempt_message, forward, and NAME_pkey; then by ctid.
-- Returns how many were deleted, how many looked at, and the last seq among those. Of a message with
-- more attempts than the limit the rest is seen in the next round.
WITH looked AS MATERIALIZED (
  SELECT ctid, id, seq FROM {{attempt}} WHERE seq > $1::bigint ORDER BY seq LIMIT $2::bigint
), purged AS (
  DELETE FROM {{attempt}} WHERE ctid = ANY (ARRAY(
    SELECT l.ctid FROM looked AS l WHERE NOT EXISTS (SELECT FROM {{table}} AS m WHERE m.id = l.id)))
  RETURNING 1
)
SELECT (SELECT count(*) FROM purged), count(*), max(seq) FROM looked
