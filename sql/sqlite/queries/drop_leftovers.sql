-- Removes what a table that was dropped by hand has left behind.
DROP TABLE IF EXISTS {{delivery}};
DROP TABLE IF EXISTS {{attempt}};
