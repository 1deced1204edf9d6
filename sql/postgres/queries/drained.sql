-- True when no message is left that is due, leased or waiting for a retry.
--
-- $1 namespace, $2 topics (regular expressions), $3 tenant: null does not limit
-- Index: NAME_claim, up to the first hit; messages delayed by their producer are passed over.
SELECT NOT EXISTS (
  SELECT FROM {{table}}
  WHERE processed_at IS NULL AND available_at < 'infinity'
    AND (available_at <= now() OR attempts > 0 OR status = 'processing')
    AND ($1::text IS NULL OR namespace = $1)
    AND ($2::text[] IS NULL OR topic ~ ANY ($2))
    AND ($3::uuid IS NULL OR (tenant_id = $3) IS TRUE))
