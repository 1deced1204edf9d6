-- How many messages a removal would lose. ?1 where to stop counting. Index: _claim.
SELECT count(*) FROM (SELECT 1 FROM {{table}} WHERE processed_at IS NULL LIMIT ?1);
