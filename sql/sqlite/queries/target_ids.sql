-- The rows of a repair, by id. ?1 ids as a JSON array, ?2 whether pending rows are meant too,
-- ?3 limit. Dead rows are always meant. Index: _id.
SELECT seq FROM {{table}}
WHERE id IN (SELECT value FROM json_each(?1))
  AND (status = 'dead' OR (?2 AND status = 'pending'))
LIMIT ?3;
