-- $1 batch
SELECT pgq.finish_batch($1::bigint)
