-- Gives every outbox table its branch in outbox.enqueue and outbox.enqueue_many, and takes those of tables
-- that are gone away. Left to the owner of the functions: for others the tables work without a branch.
-- Safe to run again.
DO $$
BEGIN
  IF (SELECT bool_or(proname = 'write_enqueue') AND bool_and(pg_has_role(proowner, 'USAGE'))
      FROM pg_catalog.pg_proc WHERE pronamespace = to_regnamespace('outbox')
        AND proname IN ('write_enqueue', 'enqueue', 'enqueue_many')) THEN
    PERFORM outbox.write_enqueue();
  END IF;
END
$$;
