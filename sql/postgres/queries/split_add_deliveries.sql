-- Adds the deliveries of messages that are being split. A message that is retried has its deliveries
-- already: those that are dead start anew, those that succeeded are left alone. A message that was tried
-- in its own row hands its attempts on.
--
-- $1 ids, $2 seqs, $3 destinations, $4 order keys (empty: no order), $5 order_waits (1 or 0),
-- $6 attempts, $7 last errors (empty: none), $8 in doubt (1 or 0): arrays of one length
-- Index: NAME_delivery_pkey.
INSERT INTO {{delivery}} AS d (id, seq, destination, order_key, order_waits, attempts, last_error,
  in_doubt)
SELECT n.id, n.seq, n.destination, nullif(n.order_key, ''), n.order_waits <> 0,
  greatest(least(n.attempts, 2147483646), 0)::integer,
  nullif(n.last_error, ''), n.in_doubt <> 0
FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::text[], $5::smallint[], $6::bigint[], $7::text[],
    $8::smallint[])
  AS n (id, seq, destination, order_key, order_waits, attempts, last_error, in_doubt)
ON CONFLICT (id, destination) DO UPDATE SET
  status = 'pending', attempts = 0, in_doubt = false, available_at = now(), updated_at = now(),
  order_key = excluded.order_key, order_waits = excluded.order_waits
WHERE d.status = 'dead'
