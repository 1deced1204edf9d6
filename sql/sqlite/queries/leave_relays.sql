-- The relays of a process that ends. ?1 process. Index: the primary key.
DELETE FROM "main"."outbox_relay" WHERE process = ?1;
