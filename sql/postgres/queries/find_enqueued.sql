-- The messages that kept others from being added: the same id, or else the same dedupe identity.
-- A statement of its own, so that under READ COMMITTED it sees what a racing transaction committed.
-- $1 ids  $2 namespaces  $3 topics  $4 dedupe keys. Indexes: primary key, dedupe.
SELECT m.position, found.id, found.seq
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[])
     WITH ORDINALITY AS m (id, namespace, topic, dedupe_key, position)
CROSS JOIN LATERAL (
  SELECT t.id, t.seq FROM {{table}} t WHERE t.id = m.id
  UNION ALL
  SELECT t.id, t.seq FROM {{table}} t
  WHERE t.namespace = m.namespace AND t.topic = m.topic AND t.dedupe_key = m.dedupe_key
  LIMIT 1
) found
