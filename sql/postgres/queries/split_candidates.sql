-- The next messages to be leased in their own rows or split into deliveries, locked until the end of the
-- transaction.
--
-- $1, $2 floor       available_at and seq after which the scan starts
-- $3 limit
-- $4 namespace, $5 topics (regular expressions), $6 tenant: null does not limit
-- $7 name of the row whose lock lets one process split at a time (split_turn.sql); nothing is found without it
-- $8 spare           leave messages alone whose lease has run out
--
-- Index: NAME_claim, forward; NAME_delivery_pkey for each row. Locks: the rows, and that of $7.
-- Durability: the commit does not wait for the disk. What a crash of the server takes away is as it was
-- before; an outcome that depends on it is durable, and everything before it with it.
-- A process that stands still before it goes on holds the lock no longer than ten seconds.
SELECT id, seq, topic, key, available_at, ctid, attempts, status = 'processing',
  CASE status WHEN 'processing' THEN
      'no outcome: attempt ' || attempts || ' was cut off (its relay crashed or lost its lease)'
    ELSE last_error END,
  status = 'processing' OR in_doubt, (SELECT true FROM {{delivery}} AS d WHERE d.id = m.id LIMIT 1)
FROM {{table}} AS m
WHERE (SELECT true FROM outbox.leader WHERE name = $7::text FOR UPDATE SKIP LOCKED)
  AND (SELECT set_config('synchronous_commit', 'off', true)) IS NOT NULL
  AND (SELECT set_config('idle_in_transaction_session_timeout', '10s', true)) IS NOT NULL
  AND processed_at IS NULL
  AND (available_at, seq) > ($1::timestamptz, $2::bigint)
  AND available_at <= now()
  AND (locked_until IS NULL OR (locked_until < now() AND NOT $8::boolean))
  AND ($4::text IS NULL OR namespace = $4)
  AND ($5::text[] IS NULL OR topic ~ ANY ($5))
  AND ($6::uuid IS NULL OR (tenant_id = $6) IS TRUE)
ORDER BY available_at, seq
LIMIT $3::bigint
FOR UPDATE OF m SKIP LOCKED
