-- Makes sure that there is a row by whose lock processes take turns at splitting a table.
-- $1 name
-- Index: leader_pkey.
INSERT INTO outbox.leader (name, token, ends_at) VALUES ($1::text, '', '-infinity')
ON CONFLICT (name) DO NOTHING
