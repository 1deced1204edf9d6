-- The rows of a repair, by id. ?1 ids as a JSON array, ?2 whether pending rows that were never tried
-- are meant too, ?3 limit, ?4 tenant or NULL. Failed and dead rows are always meant. Index: _id.
SELECT seq FROM {{table}}
WHERE id IN (SELECT value FROM json_each(?1))
  AND (status = 'dead' OR (status = 'pending' AND (?2 OR attempts > 0)))
  AND (?4 IS NULL OR tenant_id = ?4)
LIMIT ?3;
