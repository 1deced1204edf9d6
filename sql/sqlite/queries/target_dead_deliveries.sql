-- The rows of a repair that have a dead delivery, though they are under way or delivered: sink by sink,
-- oldest first. ?9 limit. Null does not limit: ?4 tenant, ?5 pattern of topics, ?6, ?7 created from and until,
-- ?8 part of last_error, after the sink's name as in that of a dead message.
-- Index: _delivery_claim, hopping from sink to sink; the primary keys for each dead delivery.
WITH RECURSIVE sink (destination) AS (
  SELECT min(destination) FROM {{delivery}} WHERE processed_at IS NULL
  UNION ALL
  SELECT (SELECT min(d.destination) FROM {{delivery}} AS d
          WHERE d.processed_at IS NULL AND d.destination > sink.destination)
  FROM sink WHERE sink.destination IS NOT NULL
)
SELECT d.seq
FROM sink
CROSS JOIN {{delivery}} AS d
CROSS JOIN {{table}} AS m
WHERE d.destination = sink.destination AND d.processed_at IS NULL
  AND d.available_at = 9223372036854775807
  AND (?8 IS NULL OR coalesce(instr(d.destination || ': ' || d.last_error, ?8), 0) > 0)
  AND m.seq = d.seq AND (m.locked_by = 'deliveries' OR m.status = 'delivered')
  AND (?4 IS NULL OR m.tenant_id = ?4) AND (?5 IS NULL OR outbox_topic_matches(?5, m.topic))
  AND (?6 IS NULL OR m.created_at >= ?6) AND (?7 IS NULL OR m.created_at < ?7)
  AND NOT EXISTS (
    SELECT 1 FROM {{delivery}} AS e
    WHERE e.seq = d.seq AND e.destination < d.destination AND e.status = 'dead'
      AND (?8 IS NULL OR coalesce(instr(e.destination || ': ' || e.last_error, ?8), 0) > 0))
LIMIT ?9;
