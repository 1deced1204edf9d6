-- Adds many messages in the caller's transaction, in the order given; continued as enqueue.sql is.
-- ?1 a JSON array of arrays, each of what enqueue.sql takes.
INSERT INTO {{table}} (id, namespace, topic, event_type, event_version, aggregate_type, aggregate_id,
                       key, tenant_id, dedupe_key, payload, headers, available_at)
SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
       json_extract(value, '$[3]'), CAST(json_extract(value, '$[4]') AS INTEGER),
       json_extract(value, '$[5]'), json_extract(value, '$[6]'), json_extract(value, '$[7]'),
       json_extract(value, '$[8]'), json_extract(value, '$[9]'), json_extract(value, '$[10]'),
       json_extract(value, '$[11]'),
       coalesce(CAST(json_extract(value, '$[12]') AS INTEGER),
                CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER)
                  + CAST(json_extract(value, '$[13]') AS INTEGER))
FROM json_each(?1)
WHERE true
ORDER BY json_each.key
