-- What writes outbox.enqueue and outbox.enqueue_many, with a branch for each outbox table. Safe to run
-- again.

-- A branch for each table: `template` with <table> as its quoted name and <names> as what callers call
-- it, for an array. Names are of letters, digits and _, or left out.
--
-- Ten branches to a group, so that the last of many is not asked for last. At most 100, the oldest tables
-- first: a session reads the whole function at its first call.
CREATE OR REPLACE FUNCTION outbox.branches(template text) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  WITH tables AS (
    SELECT m.table_name, string_to_array(m.table_name, '.') AS part FROM outbox.migration AS m
    WHERE m.table_name ~ '^[a-z_][a-z0-9_]{0,47}\.[a-z_][a-z0-9_]{0,47}$'
    GROUP BY m.table_name ORDER BY min(m.applied_at), m.table_name LIMIT 100
  ), numbered AS (
    SELECT format('%I.%I', part[1], part[2]) AS quoted,
      table_name || CASE WHEN part[1] = 'public' THEN ',' || part[2] ELSE '' END AS names,
      row_number() OVER (ORDER BY table_name) - 1 AS number
    FROM tables
  ), groups AS (
    SELECT number / 10 AS number, count(*) OVER () > 1 AS many, string_agg(names, ',' ORDER BY number) AS names,
      string_agg(replace(replace(template, '<table>', quoted), '<names>', names), '' ORDER BY number) AS branches
    FROM numbered GROUP BY number / 10
  )
  SELECT coalesce(string_agg(
    CASE WHEN many THEN format(E'\n  IF table_name OPERATOR(pg_catalog.=) ANY (%L) THEN%s\n  END IF;',
                               '{' || names || '}', branches)
         ELSE branches END, '' ORDER BY number), '')
  FROM groups
$$;

-- Writes both functions, where they are not as they should be. Only their owner can.
CREATE OR REPLACE FUNCTION outbox.write_enqueue() RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  definition text;
BEGIN
  -- Of two migrations at once, the second sees the records of the first.
  PERFORM pg_advisory_xact_lock(hashtext('outbox.write_enqueue'));
  FOREACH definition IN ARRAY ARRAY[outbox.enqueue_definition(), outbox.enqueue_many_definition()] LOOP
    CONTINUE WHEN EXISTS (
      SELECT FROM pg_proc WHERE pronamespace = 'outbox'::regnamespace
        AND proname IN ('enqueue', 'enqueue_many') AND strpos(definition, prosrc) > 0);
    EXECUTE definition;
  END LOOP;
END
$$;
