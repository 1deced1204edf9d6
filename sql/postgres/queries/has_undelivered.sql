-- Whether a table holds messages that would be lost with it: waiting, leased or dead.
-- Index: NAME_claim, first entry.
SELECT EXISTS (SELECT FROM {{table}} WHERE processed_at IS NULL)
