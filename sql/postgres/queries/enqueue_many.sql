-- Adds many messages in the caller's transaction, in the order given; continued as enqueue.sql is.
-- $1 … $14: arrays of what enqueue.sql takes.
INSERT INTO {{table}} (id, namespace, topic, event_type, event_version, aggregate_type, aggregate_id,
                       key, tenant_id, dedupe_key, payload, headers, available_at)
SELECT id, namespace, topic, event_type, event_version, aggregate_type, aggregate_id,
       key, tenant_id, dedupe_key, payload::json, headers::json,
       coalesce(available_at, clock_timestamp() + delay_ms * interval '1 millisecond')
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::integer[], $6::text[], $7::text[],
            $8::text[], $9::uuid[], $10::text[], $11::text[], $12::text[], $13::timestamptz[],
            $14::bigint[])
     WITH ORDINALITY
     AS m (id, namespace, topic, event_type, event_version, aggregate_type, aggregate_id, key,
           tenant_id, dedupe_key, payload, headers, available_at, delay_ms, position)
ORDER BY position
