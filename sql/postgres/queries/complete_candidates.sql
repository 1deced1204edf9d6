-- A page of the messages that were split, and which of them should be complete: completing them was cut
-- off by a crash, or somebody deleted deliveries.
--
-- $1 seq after which to look, $2 limit
-- $3 any               true: one success is enough, though others are open
--
-- Index: NAME_claim, at the end of time; NAME_delivery_pkey for each row.
SELECT m.id, m.seq, m.locked_by = 'deliveries' AND (
  NOT EXISTS (
    SELECT FROM {{delivery}} AS d WHERE d.id = m.id AND d.status IN ('pending', 'processing'))
  OR ($3::boolean AND EXISTS (
    SELECT FROM {{delivery}} AS d WHERE d.id = m.id AND d.status = 'delivered')))
FROM {{table}} AS m
WHERE m.processed_at IS NULL AND m.available_at = '9999-12-31 00:00:00+00' AND m.seq > $1::bigint
ORDER BY m.available_at, m.seq
LIMIT $2::bigint
