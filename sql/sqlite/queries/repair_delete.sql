-- Removes a message that nobody is delivering: no lease on it or on a delivery of it runs, and one that is
-- delivered has no delivery to another sink open. ?1 seq.
-- Index: the primary keys.
DELETE FROM {{table}} AS m WHERE seq = ?1 AND (status IN ('pending', 'dead', 'delivered')
  OR (status = 'processing' AND locked_until <= {{now}}))
  AND NOT EXISTS (
    SELECT 1 FROM {{delivery}} AS d
    WHERE d.seq = m.seq AND (
      (d.status = 'processing' AND d.locked_until > {{now}})
      OR (m.status = 'delivered' AND d.status IN ('pending', 'processing'))));
