-- The message that a claim of one would lease: who is refused alone. Its lock ends with the statement.
--
-- $1, $2 floor       available_at and seq after which the scan starts
-- $3 namespace, $4 topics (regular expressions), $5 tenant: null does not limit
-- $6 spare           leave messages alone whose lease has run out
-- $7 aside           seqs of rows that refuse to be leased; null: none
--
-- Index: NAME_claim, forward; see claim_lease.sql.
SELECT seq, id FROM {{table}}
WHERE processed_at IS NULL
  AND (available_at, seq) > ($1::timestamptz, $2::bigint)
  AND available_at <= now()
  AND (locked_until IS NULL OR (locked_until < now() AND NOT $6::boolean))
  AND ($3::text IS NULL OR namespace = $3)
  AND ($4::text[] IS NULL OR topic ~ ANY ($4))
  AND ($5::uuid IS NULL OR (tenant_id = $5) IS TRUE)
  AND ($7::bigint[] IS NULL OR seq <> ALL ($7))
ORDER BY available_at, seq
LIMIT 1
FOR UPDATE SKIP LOCKED
