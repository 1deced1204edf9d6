-- Notes the attempts of expired leases among rows that a transaction claim or a splitter has locked (lease
-- claims do it as they claim). To be run before their state changes.
--
-- $1 ctids, $2 destination (empty: the table's only one, or not known)
-- Index: none, by ctid.
INSERT INTO {{attempt}} (id, seq, destination, attempt, worker, started_at, ended_at, result)
SELECT id, seq, $2::text, attempts, regexp_replace(locked_by, '/[^/]*$', ''), updated_at,
  coalesce(locked_until, now()), 'no_outcome'
FROM {{table}}
WHERE ctid = ANY ($1::tid[]) AND status = 'processing' AND locked_by IS NOT NULL
