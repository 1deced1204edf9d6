-- The messages of the deliveries just claimed. ?1 lease token, ?2 destination.
-- Index: _delivery_claim; the message's primary key.
SELECT m.seq, m.id, m.namespace, m.topic, m.event_type, m.event_version, m.aggregate_type,
  m.aggregate_id, m.key, m.tenant_id, m.dedupe_key, m.payload, m.headers, d.attempts, m.created_at,
  d.available_at, d.last_error GLOB 'no outcome: *'
FROM {{delivery}} AS d JOIN {{table}} AS m ON m.seq = d.seq
WHERE d.destination = ?2 AND d.processed_at IS NULL AND d.locked_by = ?1
ORDER BY d.available_at, d.seq;
