-- Adds one message in the caller's transaction. What comes back, and what when it is there already,
-- is added by the enqueuer.
-- ?1 id  ?2 namespace  ?3 topic  ?4 event_type  ?5 event_version  ?6 aggregate_type  ?7 aggregate_id
-- ?8 key  ?9 tenant_id  ?10 dedupe_key  ?11 payload  ?12 headers  ?13 available_at in ms  ?14 delay in ms
INSERT INTO {{table}} (id, namespace, topic, event_type, event_version, aggregate_type, aggregate_id,
                       key, tenant_id, dedupe_key, payload, headers, available_at)
VALUES (?1, ?2, ?3, ?4, CAST(?5 AS INTEGER), ?6, ?7, ?8, ?9, ?10, ?11, ?12,
        coalesce(CAST(?13 AS INTEGER),
                 CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER) + CAST(?14 AS INTEGER)))
