ALTER TABLE {{delivery}} DROP COLUMN in_doubt;
ALTER TABLE {{table}} DROP COLUMN in_doubt;
