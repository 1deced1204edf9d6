-- Closes the batch that is being filled, when there is something in it.
SELECT pgq.ticker('bench')
