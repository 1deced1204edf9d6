-- The function behind the trigger of tables that notify their relays. Safe to run again.
CREATE OR REPLACE FUNCTION outbox.notify_relay() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pg_notify(TG_ARGV[0], '');
  RETURN NULL;
END
$$;
