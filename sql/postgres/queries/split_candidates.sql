-- The next messages to be split into deliveries, locked until the end of the transaction.
--
-- $1, $2 floor       available_at and seq after which the scan starts
-- $3 limit
-- $4 namespace, $5 topics (regular expressions), $6 tenant: null does not limit
-- $7 key of the lock that lets one process split at a time; nothing is found without it
--
-- Index: NAME_claim, forward. Locks: the rows.
SELECT id, seq, topic, key, available_at FROM {{table}}
WHERE (SELECT pg_try_advisory_xact_lock($7::bigint))
  AND processed_at IS NULL
  AND (available_at, seq) > ($1::timestamptz, $2::bigint)
  AND available_at <= now()
  AND (locked_until IS NULL OR locked_until < now())
  AND ($4::text IS NULL OR namespace = $4)
  AND ($5::text[] IS NULL OR topic ~ ANY ($5))
  AND ($6::uuid IS NULL OR (tenant_id = $6) IS TRUE)
ORDER BY available_at, seq
LIMIT $3::bigint
FOR UPDATE SKIP LOCKED
