-- Keeps everybody out of a table that is about to be dropped; until the end of the transaction.
LOCK TABLE {{table}} IN ACCESS EXCLUSIVE MODE
