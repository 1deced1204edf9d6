-- One message through the SQL function, as any language would call it.
-- $1 table, $2 topic, $3 payload, $4 key, $5 event_type
SELECT id, seq, already_enqueued
FROM outbox.enqueue(table_name => $1::text, topic => $2::text, payload => $3::jsonb, key => $4::text,
                    event_type => $5::text)
