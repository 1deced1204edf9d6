-- The relays of a process that ends.
-- $1 process
-- Index: relay_pkey.
DELETE FROM outbox.relay WHERE process = $1::text
