-- Empties the table and its deliveries.
TRUNCATE {{table}}, {{delivery}}
