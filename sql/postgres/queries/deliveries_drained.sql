-- True when no delivery to a destination is left that is due, leased or waiting for a retry, and no
-- message that has yet to be split.
--
-- $1 destination
-- Index: NAME_delivery_claim and NAME_claim, up to the first hit.
SELECT NOT EXISTS (
    SELECT FROM {{delivery}}
    WHERE destination = $1::text AND processed_at IS NULL AND available_at < 'infinity')
  AND NOT EXISTS (
    SELECT FROM {{table}}
    WHERE processed_at IS NULL AND available_at < '9999-12-31 00:00:00+00'
      AND (available_at <= now() OR attempts > 0))
