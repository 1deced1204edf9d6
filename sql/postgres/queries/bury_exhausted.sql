-- Turns locked rows dead whose attempts are used up (transaction claims; lease claims do it as they
-- claim).
--
-- $1 ctids
-- Index: none, by ctid.
UPDATE {{table}} AS m SET
  status = 'dead', available_at = 'infinity', locked_by = NULL, locked_until = NULL,
  last_error = 'gave up after ' || m.attempts || ' attempts'
    || CASE m.status WHEN 'processing'
         THEN ': the last one ended without an outcome (its relay crashed or lost its lease)'
         ELSE ', the limit' END
    || coalesce('; before that: ' || left(m.last_error, 400), ''),
  in_doubt = false, updated_at = statement_timestamp()
WHERE m.ctid = ANY ($1::tid[])
RETURNING m.seq
