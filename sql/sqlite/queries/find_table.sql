-- Whether a table of this name exists. ?1 name. sqlite_schema has no index; it is small.
SELECT 1 FROM "main".sqlite_schema WHERE type = 'table' AND name = ?1;
