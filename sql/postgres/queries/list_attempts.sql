-- The newest attempts at one message, newest first.
--
-- $1 id, $2 tenant (null does not limit), $3 limit
-- Index: NAME_pkey; NAME_attempt_message, backward.
SELECT destination, attempt, worker, started_at, ended_at, result, error_class, error
FROM {{attempt}}
WHERE seq = (
  SELECT seq FROM {{table}} WHERE id = $1::uuid AND ($2::uuid IS NULL OR (tenant_id = $2) IS TRUE))
ORDER BY seq DESC, ended_at DESC
LIMIT $3::bigint
