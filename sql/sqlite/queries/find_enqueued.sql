-- The messages that kept others from being added: the same id, or else the same dedupe identity.
-- ?1 a JSON array of [id, namespace, topic, dedupe_key]. Indexes: id, dedupe.
SELECT m.key + 1,
       coalesce(by_id.id, by_key.id),
       coalesce(by_id.seq, by_key.seq)
FROM json_each(?1) AS m
LEFT JOIN {{table}} AS by_id ON by_id.id = json_extract(m.value, '$[0]')
LEFT JOIN {{table}} AS by_key
  ON by_key.dedupe_key IS NOT NULL
 AND by_key.namespace = json_extract(m.value, '$[1]')
 AND by_key.topic = json_extract(m.value, '$[2]')
 AND by_key.dedupe_key = json_extract(m.value, '$[3]')
WHERE by_id.id IS NOT NULL OR by_key.id IS NOT NULL
