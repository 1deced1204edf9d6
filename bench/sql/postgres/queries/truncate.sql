-- Empties the table, its deliveries and attempts.
TRUNCATE {{table}}, {{delivery}}, {{attempt}}
