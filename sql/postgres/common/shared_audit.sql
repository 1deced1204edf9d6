-- outbox.purge_audit: deletes audit records of a table that are older than the retention, and returns
-- how many. Safe to run again.
--
-- Relays may not delete from the audit. They may call this, which runs as its owner and leaves what is
-- younger than 30 days whatever they ask for: nobody with their role can wipe out what was just done.
--
-- Looks at the oldest records of the table only, as many as the limit: by number, which is about the order
-- of time, so that a round that finds nothing reads no more than one that does.
-- Index: audit_table, forward, and audit_pkey.
CREATE OR REPLACE FUNCTION outbox.purge_audit(of_table text, retention_ms bigint, count_max bigint)
RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  purged bigint;
BEGIN
  DELETE FROM outbox.audit WHERE number = ANY (ARRAY(
    SELECT number
    FROM (SELECT number, at FROM outbox.audit WHERE table_name = of_table
          ORDER BY number LIMIT count_max) AS oldest
    WHERE at < now() - greatest(retention_ms * interval '1 ms', interval '30 days')));
  GET DIAGNOSTICS purged = ROW_COUNT;
  RETURN purged;
END
$$;
