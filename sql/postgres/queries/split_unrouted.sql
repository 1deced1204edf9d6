-- Settles messages that no route takes.
--
-- $1 ids
-- $2 choice: 0 keep, to be looked at again in a minute; 1 dead; 2 dropped, as if delivered
-- $3 whether delivered rows are kept
--
-- Index: NAME_pkey; deliveries of an earlier route: NAME_delivery_pkey; attempts: NAME_attempt_message.
WITH dropped AS (
  DELETE FROM {{table}} WHERE id = ANY ($1::uuid[]) AND $2::smallint = 2 AND NOT $3::boolean
  RETURNING id, seq
), deliveries AS (
  DELETE FROM {{delivery}} WHERE id IN (SELECT id FROM dropped)
), attempts AS (
  DELETE FROM {{attempt}} WHERE seq IN (SELECT seq FROM dropped)
)
UPDATE {{table}} SET
  status = (ARRAY['pending', 'dead', 'delivered'])[$2 + 1],
  available_at = CASE $2 WHEN 0 THEN now() + interval '1 minute' WHEN 1 THEN 'infinity'
    ELSE available_at END,
  processed_at = CASE $2 WHEN 2 THEN now() END,
  locked_by = NULL,
  locked_until = NULL,
  in_doubt = false,
  last_error = 'no route takes the topic ' || topic,
  updated_at = now()
WHERE id = ANY ($1) AND ($2 <> 2 OR $3)
