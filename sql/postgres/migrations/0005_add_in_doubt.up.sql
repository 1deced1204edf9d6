-- in_doubt: the attempt before was cut off (its relay crashed or lost its lease), and may have reached the
-- destination. Set as an expired lease is claimed, cleared by the next outcome. last_error tells people
-- the same; a relay never reads it, since a destination could write there what it likes.
ALTER TABLE {{table}} ADD COLUMN in_doubt boolean NOT NULL DEFAULT false;
ALTER TABLE {{delivery}} ADD COLUMN in_doubt boolean NOT NULL DEFAULT false;
