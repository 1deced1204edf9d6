-- Removes the shop's business table.
DROP TABLE {{table}}
