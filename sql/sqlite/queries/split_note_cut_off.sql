-- Notes the attempt of an expired lease in a message's own row, before the splitter changes that. ?1 seq,
-- ?2 destination (empty: not known). Index: the primary key.
INSERT INTO {{attempt}} (seq, destination, attempt, worker, started_at, ended_at, result)
SELECT seq, ?2, attempts,
  substr(locked_by, 1, length(rtrim(locked_by, replace(locked_by, '/', ''))) - 1),
  updated_at, coalesce(locked_until, {{now}}), 'no_outcome'
FROM {{table}} WHERE seq = ?1 AND locked_by IS NOT NULL;
