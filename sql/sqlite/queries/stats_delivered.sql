-- How many messages of the delivered are kept. ?1 where to stop counting. Index: _processed.
SELECT count(*) FROM (SELECT 1 FROM {{table}} WHERE processed_at IS NOT NULL LIMIT ?1);
