-- Whether a whole table is paused.
-- $1 table
-- Index: pause_pkey.
SELECT EXISTS (SELECT FROM outbox.pause WHERE table_name = $1::text AND sink = '')
