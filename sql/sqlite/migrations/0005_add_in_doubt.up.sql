-- The attempt before was cut off, as on PostgreSQL, where the comments are.
ALTER TABLE {{table}} ADD COLUMN in_doubt INTEGER NOT NULL DEFAULT 0 CHECK (in_doubt IN (0, 1));
ALTER TABLE {{delivery}} ADD COLUMN in_doubt INTEGER NOT NULL DEFAULT 0 CHECK (in_doubt IN (0, 1));
