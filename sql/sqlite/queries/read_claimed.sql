-- The messages of the deliveries just claimed, and whether they have an order. ?1 seqs as a JSON array,
-- ?2 destination.
-- Index: the primary keys.
SELECT m.seq, m.id, m.namespace, m.topic, m.event_type, m.event_version, m.aggregate_type,
  m.aggregate_id, m.key, m.tenant_id, m.dedupe_key, m.payload, m.headers, d.attempts, m.created_at,
  d.available_at, d.in_doubt, d.order_key IS NOT NULL
FROM {{delivery}} AS d JOIN {{table}} AS m ON m.seq = d.seq
WHERE d.seq IN (SELECT value FROM json_each(?1)) AND d.destination = ?2;
