-- How many numbers lie between the first and the last message. Index: the primary key.
SELECT coalesce((SELECT max(seq) FROM {{table}}) - (SELECT min(seq) FROM {{table}}) + 1, 0);
