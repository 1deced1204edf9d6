-- The first number of a message, and how many numbers there are up to the last. Index: the primary key.
SELECT coalesce((SELECT min(seq) FROM {{table}}), 0),
  coalesce((SELECT max(seq) FROM {{table}}) - (SELECT min(seq) FROM {{table}}) + 1, 0);
