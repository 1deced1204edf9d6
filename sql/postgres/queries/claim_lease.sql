-- Leases the next messages that are due, in one statement; turns those dead whose attempts are used up.
--
-- $1 token           who holds the lease; unique to this claim
-- $2 lease           milliseconds
-- $3, $4 floor       available_at and seq after which the scan starts
-- $5 limit
-- $6 attempts_max    null: without end
-- $7 namespace, $8 topics (regular expressions), $9 tenant: null does not limit
-- $10 spare          leave messages alone whose lease has run out
-- $11 aside          seqs of rows that refuse to be leased; null: none
--
-- Index: NAME_claim, forward. The second visit goes by ctid and saves an index descent a row. No
-- indexed column changes (but for the dead), so the update is HOT. (tenant_id = $9) IS TRUE keeps
-- the planner away from the tenant's index, which leads through its whole history.
-- Locks: the rows, until the end of this statement. A row that changes between snapshot and lock is
-- skipped this time.
-- Durability: the commit does not wait for the disk (set_config, evaluated once). A lease that a crash
-- of the server takes away leaves its messages pending, to be delivered again: what an unrecorded ack
-- does too. What the relay settles is durable, and everything before it with it.
UPDATE {{table}} AS m SET
  status = CASE WHEN m.attempts >= $6::integer THEN 'dead' ELSE 'processing' END,
  attempts = CASE WHEN m.attempts >= $6 THEN m.attempts
    ELSE greatest(least(m.attempts, 2147483646), 0) + 1 END,
  available_at = CASE WHEN m.attempts >= $6 THEN 'infinity' ELSE m.available_at END,
  locked_by = CASE WHEN m.attempts >= $6 THEN NULL ELSE $1::text END,
  locked_until = CASE WHEN m.attempts >= $6 THEN NULL ELSE now() + $2::bigint * interval '1 ms' END,
  last_error = CASE WHEN m.attempts >= $6 THEN
      'gave up after ' || m.attempts || ' attempts'
      || CASE m.status WHEN 'processing'
           THEN ': the last one ended without an outcome (its relay crashed or lost its lease)'
           ELSE ': the limit is ' || $6 END
      || coalesce('; before that: ' || left(m.last_error, 400), '')
    WHEN m.status = 'processing' THEN
      'no outcome: attempt ' || m.attempts || ' was cut off (its relay crashed or lost its lease)'
    ELSE m.last_error END,
  in_doubt = CASE WHEN m.attempts >= $6 THEN false WHEN m.status = 'processing' THEN true
    ELSE m.in_doubt END,
  updated_at = now()
WHERE m.ctid = ANY (ARRAY(
  SELECT ctid FROM {{table}}
  WHERE (SELECT set_config('synchronous_commit', 'off', true)) IS NOT NULL
    AND processed_at IS NULL
    AND (available_at, seq) > ($3::timestamptz, $4::bigint)
    AND available_at <= now()
    AND (locked_until IS NULL OR (locked_until < now() AND NOT $10::boolean))
    AND ($7::text IS NULL OR namespace = $7)
    AND ($8::text[] IS NULL OR topic ~ ANY ($8))
    AND ($9::uuid IS NULL OR (tenant_id = $9) IS TRUE)
    AND ($11::bigint[] IS NULL OR seq <> ALL ($11))
  ORDER BY available_at, seq
  LIMIT $5::bigint
  FOR UPDATE SKIP LOCKED))
RETURNING id, seq, namespace, topic, event_type, event_version, aggregate_type, aggregate_id, key,
  tenant_id, dedupe_key, payload, headers, attempts, created_at, available_at, ctid, status = 'dead',
  in_doubt
