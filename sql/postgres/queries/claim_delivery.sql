-- Leases the next deliveries to one destination that are due, in one statement; turns those dead whose
-- attempts are used up. claim_lease.sql for deliveries: the same columns of state, the rest from the
-- message.
--
-- $1 token           who holds the lease; unique to this claim
-- $2 lease           milliseconds
-- $3, $4 floor       available_at and seq after which the scan starts
-- $5 limit
-- $6 attempts_max    null: without end
-- $7 destination
-- $8 page            how many rows to look at, where there is an order: what waits for an earlier one
--                    does not count towards the limit
-- $9 keys            whose next delivery may have become due, wherever it stands
-- $10 keys' limit    of deliveries found by these keys; no more than the limit
-- $11 spare          leave deliveries alone whose lease has run out
--
-- Returns at least one row. Its id is null when nothing was claimed. The last two columns say how far it
-- looked; null when that is to the end.
--
-- Index: NAME_delivery_claim, forward; NAME_delivery_order for each key; then by ctid, and the message by
-- NAME_pkey. The update is HOT (but for the dead).
-- Locks: the deliveries' rows, until the end of this statement. The commit does not wait for the disk.
WITH page AS MATERIALIZED (
  SELECT w.available_at, w.seq, w.order_key
  FROM {{delivery}} AS w
  WHERE EXISTS (
      SELECT FROM {{delivery}} AS o
      WHERE o.destination = $7::text AND o.processed_at IS NULL AND o.order_key IS NOT NULL)
    AND w.destination = $7 AND w.processed_at IS NULL
    AND (w.available_at, w.seq) > ($3::timestamptz, $4::bigint) AND w.available_at <= now()
  ORDER BY w.available_at, w.seq
  LIMIT $8::bigint
), page_end AS MATERIALIZED (
  SELECT available_at, seq FROM page ORDER BY available_at, seq OFFSET $8 - 1
), first AS MATERIALIZED (
  SELECT f.seq
  FROM (SELECT DISTINCT order_key FROM page WHERE order_key IS NOT NULL) AS k
  CROSS JOIN LATERAL (
    SELECT e.seq FROM {{delivery}} AS e
    WHERE e.destination = $7 AND e.order_key = k.order_key AND e.processed_at IS NULL
      AND e.order_key IS NOT NULL AND (e.status <> 'dead' OR e.order_waits)
    ORDER BY e.seq LIMIT 1) AS f
), next AS MATERIALIZED (
  SELECT w.ctid, w.available_at, w.seq
  FROM {{delivery}} AS w
  WHERE w.ctid = ANY (ARRAY(
      SELECT f.ctid FROM unnest($9::text[]) AS k (order_key)
      CROSS JOIN LATERAL (
        SELECT e.ctid FROM {{delivery}} AS e
        WHERE e.destination = $7 AND e.order_key = k.order_key AND e.processed_at IS NULL
          AND e.order_key IS NOT NULL AND (e.status <> 'dead' OR e.order_waits)
        ORDER BY e.seq LIMIT 1) AS f))
    AND w.processed_at IS NULL AND w.available_at <= now()
    AND (w.locked_until IS NULL OR (w.locked_until < now() AND NOT $11::boolean))
  LIMIT $10::bigint
  FOR UPDATE SKIP LOCKED
), due AS MATERIALIZED (
  SELECT w.ctid, w.available_at, w.seq
  FROM {{delivery}} AS w
  WHERE (SELECT set_config('synchronous_commit', 'off', true)) IS NOT NULL
    AND w.destination = $7
    AND w.processed_at IS NULL
    AND (w.available_at, w.seq) > ($3, $4)
    AND (w.available_at, w.seq) <= (
      coalesce((SELECT available_at FROM page_end), now()),
      coalesce((SELECT seq FROM page_end), 9223372036854775807))
    AND (w.locked_until IS NULL OR (w.locked_until < now() AND NOT $11::boolean))
    AND (w.order_key IS NULL OR w.seq IN (SELECT seq FROM first))
  ORDER BY w.available_at, w.seq
  LIMIT $5::bigint - (SELECT count(*) FROM next)
  FOR UPDATE SKIP LOCKED
), looked AS (
  SELECT available_at, seq FROM due
  WHERE (SELECT count(*) FROM due) + (SELECT count(*) FROM next) >= $5
  UNION ALL
  SELECT available_at, seq FROM page_end
  WHERE (SELECT count(*) FROM due) + (SELECT count(*) FROM next) < $5
  ORDER BY available_at DESC, seq DESC
  LIMIT 1
), claimed AS (
  UPDATE {{delivery}} AS d SET
    status = CASE WHEN d.attempts >= $6::integer THEN 'dead' ELSE 'processing' END,
    attempts = CASE WHEN d.attempts >= $6 THEN d.attempts
      ELSE greatest(least(d.attempts, 2147483646), 0) + 1 END,
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
    in_doubt = CASE WHEN d.attempts >= $6 THEN false WHEN d.status = 'processing' THEN true
      ELSE d.in_doubt END,
    updated_at = now()
  WHERE d.ctid = ANY (ARRAY(SELECT ctid FROM next UNION ALL SELECT ctid FROM due))
  RETURNING d.id, d.attempts, d.available_at, d.ctid, d.status = 'dead' AS dead,
    d.in_doubt, d.order_key IS NOT NULL AS ordered
)
SELECT m.id, m.seq, m.namespace, m.topic, m.event_type, m.event_version, m.aggregate_type,
  m.aggregate_id, m.key, m.tenant_id, m.dedupe_key, m.payload, m.headers, c.attempts, m.created_at,
  c.available_at, c.ctid, c.dead, c.in_doubt, now(), c.ordered, l.available_at, l.seq
FROM (SELECT (SELECT available_at FROM looked), (SELECT seq FROM looked)) AS l (available_at, seq)
LEFT JOIN (claimed AS c JOIN {{table}} AS m ON m.id = c.id) ON true
