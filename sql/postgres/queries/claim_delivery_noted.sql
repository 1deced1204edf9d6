-- claim_delivery.sql for a relay that keeps a history of attempts; see claim_lease_noted.sql.
--
-- $1 token           who holds the lease; unique to this claim
-- $2 lease           milliseconds
-- $3, $4 floor       available_at and seq after which the scan starts
-- $5 limit
-- $6 attempts_max    null: without end
-- $7 destination
--
-- Index, locks, durability: as claim_delivery.sql.
WITH due AS MATERIALIZED (
  SELECT w.ctid, w.seq, w.status, w.attempts, w.locked_by, w.updated_at, w.locked_until
  FROM {{delivery}} AS w
  WHERE (SELECT set_config('synchronous_commit', 'off', true)) IS NOT NULL
    AND w.destination = $7::text
    AND w.processed_at IS NULL
    AND (w.available_at, w.seq) > ($3::timestamptz, $4::bigint)
    AND w.available_at <= now()
    AND (w.locked_until IS NULL OR w.locked_until < now())
    AND (w.order_key IS NULL OR NOT EXISTS (
      SELECT FROM {{delivery}} AS e
      WHERE e.destination = w.destination AND e.order_key = w.order_key AND e.seq < w.seq
        AND e.processed_at IS NULL AND e.order_key IS NOT NULL
        AND (e.status <> 'dead' OR e.order_waits)))
  ORDER BY w.available_at, w.seq
  LIMIT $5::bigint
  FOR UPDATE SKIP LOCKED
), claimed AS (
  UPDATE {{delivery}} AS d SET
    status = CASE WHEN d.attempts >= $6::integer THEN 'dead' ELSE 'processing' END,
    attempts = d.attempts + CASE WHEN d.attempts >= $6 THEN 0 ELSE 1 END,
    available_at = CASE WHEN d.attempts >= $6 THEN 'infinity' ELSE d.available_at END,
    locked_by = CASE WHEN d.attempts >= $6 THEN NULL ELSE $1::text END,
    locked_until = CASE WHEN d.attempts >= $6 THEN NULL ELSE now() + $2::bigint * interval '1 ms' END,
    last_error = CASE WHEN d.attempts >= $6 THEN
        'gave up after ' || d.attempts || ' attempts'
        || CASE d.status WHEN 'processing'
             THEN ': the last one ended without an outcome (its relay crashed or lost its lease)'
             ELSE ': the limit is ' || $6 END
        || coalesce('; before that: ' || left(d.last_error, 400), '')
      WHEN d.status = 'processing' THEN
        'no outcome: attempt ' || d.attempts || ' was cut off (its relay crashed or lost its lease)'
      ELSE d.last_error END,
    updated_at = now()
  WHERE d.ctid = ANY (ARRAY(SELECT ctid FROM due))
  RETURNING d.id, d.seq, d.attempts, d.available_at, d.ctid, d.status = 'dead' AS dead,
    starts_with(d.last_error, 'no outcome: ') AS in_doubt
), noted AS (
  INSERT INTO {{attempt}} (id, seq, destination, attempt, worker, started_at, ended_at, result)
  SELECT c.id, c.seq, $7, d.attempts, regexp_replace(d.locked_by, '/[^/]*$', ''), d.updated_at,
    d.locked_until, 'no_outcome'
  FROM due AS d JOIN claimed AS c ON c.seq = d.seq
  WHERE d.status = 'processing' AND d.locked_by IS NOT NULL
)
SELECT m.id, m.seq, m.namespace, m.topic, m.event_type, m.event_version, m.aggregate_type,
  m.aggregate_id, m.key, m.tenant_id, m.dedupe_key, m.payload, m.headers, c.attempts, m.created_at,
  c.available_at, c.ctid, c.dead, c.in_doubt, now()
FROM claimed AS c JOIN {{table}} AS m ON m.id = c.id
