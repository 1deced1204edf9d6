-- Locks the next messages that are due for as long as the transaction lasts. Nothing is written: a
-- crash, or a lost connection, frees them at once.
--
-- $1, $2 floor       available_at and seq after which the scan starts
-- $3 limit
-- $4 attempts_max    null: without end
-- $5 namespace, $6 topics (regular expressions), $7 tenant: null does not limit
-- $8 idle            milliseconds after which the server ends the transaction, when the relay says nothing
--                    meanwhile: one that stands still does not hold its rows for ever
--
-- Index: NAME_claim, forward; see claim_lease.sql.
SELECT id, seq, namespace, topic, event_type, event_version, aggregate_type, aggregate_id, key,
  tenant_id, dedupe_key, payload, headers, attempts, created_at, available_at, ctid,
  coalesce(attempts >= $4::integer, false), in_doubt OR status = 'processing'
FROM {{table}}
WHERE (SELECT set_config('idle_in_transaction_session_timeout', $8::bigint::text, true)) IS NOT NULL
  AND processed_at IS NULL
  AND (available_at, seq) > ($1::timestamptz, $2::bigint)
  AND available_at <= now()
  AND (locked_until IS NULL OR locked_until < now())
  AND ($5::text IS NULL OR namespace = $5)
  AND ($6::text[] IS NULL OR topic ~ ANY ($6))
  AND ($7::uuid IS NULL OR (tenant_id = $7) IS TRUE)
ORDER BY available_at, seq
LIMIT $3::bigint
FOR UPDATE SKIP LOCKED
