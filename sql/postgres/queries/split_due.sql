-- Whether there is a message to be split, and the time up to which that holds. An idle splitter asks this
-- instead of opening a transaction.
--
-- $1 namespace, $2 topics (regular expressions), $3 tenant: null does not limit
-- $4, $5 floor       available_at and seq after which the scan starts
-- Index: NAME_claim, up to the first hit.
SELECT EXISTS (
  SELECT FROM {{table}}
  WHERE processed_at IS NULL AND (available_at, seq) > ($4::timestamptz, $5::bigint)
    AND available_at <= now()
    AND (locked_until IS NULL OR locked_until < now())
    AND ($1::text IS NULL OR namespace = $1)
    AND ($2::text[] IS NULL OR topic ~ ANY ($2))
    AND ($3::uuid IS NULL OR (tenant_id = $3) IS TRUE)), now()
