-- The next batch of the consumer, or an empty text.
SELECT coalesce(pgq.next_batch('bench', 'bench')::text, '')
