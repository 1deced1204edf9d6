-- Adds one message in the caller's transaction. What comes back, and what when it is there already,
-- is added by the enqueuer.
-- $1 id  $2 namespace  $3 topic  $4 event_type  $5 event_version  $6 aggregate_type  $7 aggregate_id
-- $8 key  $9 tenant_id  $10 dedupe_key  $11 payload  $12 headers  $13 available_at  $14 delay in ms
INSERT INTO {{table}} (id, namespace, topic, event_type, event_version, aggregate_type, aggregate_id,
                       key, tenant_id, dedupe_key, payload, headers, available_at)
VALUES ($1::uuid, $2::text, $3::text, $4::text, $5::integer, $6::text, $7::text,
        $8::text, $9::uuid, $10::text, $11::json, $12::json,
        coalesce($13::timestamptz, clock_timestamp() + $14::bigint * interval '1 millisecond'))
