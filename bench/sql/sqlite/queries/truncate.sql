-- Empties the table.
DELETE FROM {{table}}
