-- Removes what fill.sql added, delivered by now; history stays.
DELETE FROM {{table}} WHERE processed_at >= now() - interval '1 hour' AND payload->>'note' IS NOT NULL
