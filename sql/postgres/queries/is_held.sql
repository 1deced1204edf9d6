-- Whether a whole table is held.
-- $1 table
-- Index: hold_pkey.
SELECT EXISTS (SELECT FROM outbox.hold WHERE table_name = $1::text AND sink = '')
