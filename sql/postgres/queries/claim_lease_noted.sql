-- claim_lease.sql for a relay that keeps a history of attempts: it also notes the attempts that ended
-- without an outcome, those of the expired leases it takes over, and returns its own time.
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
-- Index, locks, durability: as claim_lease.sql. What was due is compared with what was claimed, since a
-- row that changed between snapshot and lock is not.
WITH due AS MATERIALIZED (
  SELECT ctid, seq, status, attempts, locked_by, updated_at, locked_until FROM {{table}}
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
  FOR UPDATE SKIP LOCKED
), claimed AS (
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
  WHERE m.ctid = ANY (ARRAY(SELECT ctid FROM due))
  RETURNING id, seq, namespace, topic, event_type, event_version, aggregate_type, aggregate_id, key,
    tenant_id, dedupe_key, payload, headers, attempts, created_at, available_at, ctid,
    status = 'dead' AS dead, in_doubt
), noted AS (
  INSERT INTO {{attempt}} (id, seq, attempt, worker, started_at, ended_at, result)
  SELECT c.id, c.seq, d.attempts, regexp_replace(d.locked_by, '/[^/]*$', ''), d.updated_at,
    coalesce(d.locked_until, now()), 'no_outcome'
  FROM due AS d JOIN claimed AS c ON c.seq = d.seq
  WHERE d.status = 'processing' AND d.locked_by IS NOT NULL
)
SELECT id, seq, namespace, topic, event_type, event_version, aggregate_type, aggregate_id, key,
  tenant_id, dedupe_key, payload, headers, attempts, created_at, available_at, ctid, dead, in_doubt,
  now()
FROM claimed
