-- Lets go of the lead, if it is still this relay's.
-- $1 name, $2 token
-- Index: leader_pkey.
DELETE FROM outbox.leader WHERE name = $1::text AND token = $2::text
