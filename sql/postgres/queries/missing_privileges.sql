-- Which of the rights asked for this role does not have on a table.
-- $1 schema, $2 name, $3 rights
-- Index: the catalog's own.
SELECT wanted."right"
FROM unnest($3::text[]) AS wanted ("right")
JOIN pg_catalog.pg_namespace AS n ON n.nspname = $1::text
JOIN pg_catalog.pg_class AS c ON c.relnamespace = n.oid AND c.relname = $2::text
WHERE NOT has_schema_privilege(n.oid, 'USAGE') OR NOT has_table_privilege(c.oid, wanted."right")
