-- Leases messages that go to one destination in their own rows, for the relay of that. claim.sql for
-- messages that are known. ?1 lease token, ?2 lease in ms, ?3 seqs as a JSON array.
-- Index: the primary key. No column of an index is set, so that leasing rewrites no index entry.
UPDATE {{table}}
SET status = 'processing', attempts = max(min(attempts, 2147483646), 0) + 1, locked_by = ?1,
    locked_until = {{now}} + ?2, updated_at = {{now}},
    last_error = CASE status WHEN 'processing' THEN
        'no outcome: attempt ' || attempts || ' was cut off (its relay crashed or lost its lease)'
      ELSE last_error END,
    in_doubt = in_doubt OR status = 'processing'
WHERE seq IN (SELECT value FROM json_each(?3))
RETURNING seq, id, namespace, topic, event_type, event_version, aggregate_type, aggregate_id, key,
  tenant_id, dedupe_key, payload, headers, attempts, created_at, available_at,
  in_doubt;
