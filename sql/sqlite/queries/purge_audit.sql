-- Removes audit records of a table that are older than the retention, of its oldest only: by number, which is
-- about the order of time. ?1 retention in ms, ?2 how many to look at, ?3 table.
-- Index: outbox_audit_table, then the primary key.
DELETE FROM "main"."outbox_audit" WHERE number IN (
  SELECT number
  FROM (SELECT number, at FROM "main"."outbox_audit" WHERE table_name = ?3 ORDER BY number LIMIT ?2)
  WHERE at < {{now}} - ?1);
