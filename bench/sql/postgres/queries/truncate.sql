-- Empties the table.
TRUNCATE {{table}}
