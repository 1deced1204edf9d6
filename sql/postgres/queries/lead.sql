-- Takes or renews the lead of a table, or of its deliveries to one destination. One row: this relay leads,
-- for the lease from now on. No row: another does.
--
-- $1 name, $2 token   what is led, and who asks; the token is unique to this relay
-- $3 session mark     number by which this relay has marked its sessions (mark_session.sql); null: none
-- $4 lease            milliseconds
--
-- The lead is free when its lease has run out; or at once when the leader's marked sessions are all gone:
-- its process died. Sessions that ended with the server say nothing of the process.
-- Index: leader_pkey. Locks: the row, until the end of this statement.
INSERT INTO outbox.leader AS l (name, token, session_mark, ends_at, renewed_at)
VALUES ($1::text, $2::text, $3::bigint, now() + $4::bigint * interval '1 ms', now())
ON CONFLICT (name) DO UPDATE SET
  token = excluded.token, session_mark = excluded.session_mark, ends_at = excluded.ends_at,
  renewed_at = excluded.renewed_at
WHERE l.token = excluded.token
  OR l.ends_at < now()
  OR (l.session_mark IS NOT NULL
    AND l.renewed_at > pg_postmaster_start_time()
    AND NOT EXISTS (
      SELECT FROM pg_catalog.pg_locks AS k
      WHERE k.locktype = 'advisory' AND k.granted AND k.objsubid = 1
        AND k.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
        AND (k.classid::bigint << 32) | k.objid::bigint = l.session_mark))
RETURNING true
