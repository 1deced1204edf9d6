-- Deletes the attempts of messages that were completed and not kept.
--
-- $1 seqs
-- Index: NAME_attempt_message; NAME_pkey.
DELETE FROM {{attempt}} AS a
WHERE a.seq = ANY ($1::bigint[]) AND NOT EXISTS (SELECT FROM {{table}} AS m WHERE m.id = a.id)
