-- Many messages through the SQL function. $1 table, $2 array of messages
SELECT id, seq, already_enqueued FROM outbox.enqueue_many($1::text, $2::jsonb)
