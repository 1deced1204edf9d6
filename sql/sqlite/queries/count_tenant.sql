-- How many of a tenant's messages a list has, counted among its newest rows; and how many were
-- looked at. ?3 rows of each kind to look at; ?4 to ?15 as in list_tenant.sql.
-- Index: _tenant_live and _tenant_history.
SELECT total(wanted), count(*) FROM (
  SELECT * FROM (SELECT
      (?4 IS NULL OR status = ?4) AND (?5 IS NULL OR outbox_topic_matches(?5, topic))
        AND (?7 IS NULL OR key = ?7)
        AND (?10 IS NULL OR (attempts > 0) = ?10)
        AND (?11 IS NULL OR created_at >= ?11) AND (?12 IS NULL OR created_at < ?12)
        AND (?13 IS NULL OR coalesce(instr(last_error, ?13), 0) > 0) AS wanted
    FROM {{table}}
    WHERE ?14 AND tenant_id = ?6 AND processed_at IS NULL
    ORDER BY seq DESC LIMIT ?3)
  UNION ALL
  SELECT * FROM (SELECT
      (?4 IS NULL OR status = ?4) AND (?5 IS NULL OR outbox_topic_matches(?5, topic))
        AND (?7 IS NULL OR key = ?7)
        AND (?10 IS NULL OR (attempts > 0) = ?10)
        AND (?11 IS NULL OR created_at >= ?11) AND (?12 IS NULL OR created_at < ?12)
        AND (?13 IS NULL OR coalesce(instr(last_error, ?13), 0) > 0) AS wanted
    FROM {{table}}
    WHERE ?15 AND tenant_id = ?6 AND processed_at IS NOT NULL
    ORDER BY seq DESC LIMIT ?3)
);
