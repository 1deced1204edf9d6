-- Leases messages that go to one destination in their own rows, for the relay of that; turns those dead
-- whose attempts are used up. claim_lease.sql for rows that this transaction has locked.
--
-- $1 token           who holds the lease; unique to this claim
-- $2 lease           milliseconds
-- $3 attempts_max    null: without end
-- $4 ctids
--
-- Index: none, by ctid. No indexed column changes (but for the dead), so the update is HOT.
UPDATE {{table}} AS m SET
  status = CASE WHEN m.attempts >= $3::integer THEN 'dead' ELSE 'processing' END,
  attempts = CASE WHEN m.attempts >= $3 THEN m.attempts
    ELSE greatest(least(m.attempts, 2147483646), 0) + 1 END,
  available_at = CASE WHEN m.attempts >= $3 THEN 'infinity' ELSE m.available_at END,
  locked_by = CASE WHEN m.attempts >= $3 THEN NULL ELSE $1::text END,
  locked_until = CASE WHEN m.attempts >= $3 THEN NULL ELSE now() + $2::bigint * interval '1 ms' END,
  last_error = CASE WHEN m.attempts >= $3 THEN
      'gave up after ' || m.attempts || ' attempts'
      || CASE m.status WHEN 'processing'
           THEN ': the last one ended without an outcome (its relay crashed or lost its lease)'
           ELSE ': the limit is ' || $3 END
      || coalesce('; before that: ' || left(m.last_error, 400), '')
    WHEN m.status = 'processing' THEN
      'no outcome: attempt ' || m.attempts || ' was cut off (its relay crashed or lost its lease)'
    ELSE m.last_error END,
  in_doubt = CASE WHEN m.attempts >= $3 THEN false WHEN m.status = 'processing' THEN true
    ELSE m.in_doubt END,
  updated_at = now()
WHERE m.ctid = ANY ($4::tid[])
RETURNING id, seq, namespace, topic, event_type, event_version, aggregate_type, aggregate_id, key,
  tenant_id, dedupe_key, payload, headers, attempts, created_at, available_at, ctid, status = 'dead',
  in_doubt, now()
