-- Deletes one message that nobody is delivering: no lease on it or on a delivery of it runs, and one that is
-- delivered has no delivery to another sink open. Tells how it was found.
--
-- $1 id, $2 tenant (null does not limit)
-- Index: NAME_pkey, and NAME_delivery_pkey; then by ctid. Their deliveries: NAME_delivery_pkey;
-- their attempts: NAME_attempt_message.
-- No row: there is none. A row that somebody holds is found and not changed.
WITH found AS (
  SELECT status, locked_until FROM {{table}}
  WHERE id = $1::uuid AND ($2::uuid IS NULL OR (tenant_id = $2) IS TRUE)
), target AS MATERIALIZED (
  SELECT ctid FROM {{table}} AS m
  WHERE id = $1 AND ($2 IS NULL OR (tenant_id = $2) IS TRUE)
    AND (status IN ('pending', 'dead', 'delivered')
      OR (status = 'processing' AND locked_until < now()))
    AND NOT EXISTS (
      SELECT FROM {{delivery}} AS d
      WHERE d.id = m.id AND (
        (d.status = 'processing' AND d.locked_until >= now())
        OR (m.status = 'delivered' AND d.status IN ('pending', 'processing'))))
  FOR UPDATE SKIP LOCKED
), changed AS (
  DELETE FROM {{table}} AS m
  WHERE m.ctid = ANY (ARRAY(SELECT ctid FROM target)) RETURNING id, seq
), deliveries AS (
  DELETE FROM {{delivery}} WHERE id IN (SELECT id FROM changed)
), attempts AS (
  DELETE FROM {{attempt}} WHERE seq IN (SELECT seq FROM changed)
)
SELECT status, EXISTS (SELECT FROM changed), locked_until FROM found
