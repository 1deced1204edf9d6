-- The rows of a repair, by id. ?1 ids as a JSON array, ?2 whether pending rows that were never tried
-- are meant too (to delete them), but none that a sink is about to get, or those that have a dead delivery
-- (to retry them), ?3 limit, ?4 tenant or NULL. Failed and dead rows, and those whose lease expired, are
-- always meant. Index: _id and the deliveries' primary key.
SELECT seq FROM {{table}} AS m
WHERE id IN (SELECT value FROM json_each(?1))
  AND (status = 'dead' OR (status = 'pending' AND (?2 OR attempts > 0))
    OR (status = 'processing' AND locked_until <= {{now}})
    OR (NOT ?2 AND (locked_by = 'deliveries' OR status = 'delivered') AND EXISTS (
      SELECT 1 FROM {{delivery}} AS d WHERE d.seq = m.seq AND d.status = 'dead')))
  AND (NOT ?2 OR NOT EXISTS (
    SELECT 1 FROM {{delivery}} AS d
    WHERE d.seq = m.seq AND d.status = 'processing' AND d.locked_until > {{now}}))
  AND (?4 IS NULL OR tenant_id = ?4)
LIMIT ?3;
