-- Attempts: what became of each try to deliver a message, while a relay keeps such a history. The same
-- structure and meaning as on PostgreSQL, where the comments are; a message is known by its seq.
CREATE TABLE {{attempt}} (
  seq         INTEGER NOT NULL,
  destination TEXT    NOT NULL DEFAULT '',
  attempt     INTEGER NOT NULL,
  worker      TEXT    NOT NULL,
  started_at  INTEGER NOT NULL,
  ended_at    INTEGER NOT NULL,
  result      TEXT    NOT NULL
              CHECK (result IN ('delivered', 'retry', 'dead', 'released', 'no_outcome')),
  error_class TEXT,
  error       TEXT
);

-- The history of one message.
CREATE INDEX {{schema}}."{{name}}_attempt_message" ON "{{name}}_attempt" (seq, ended_at);
-- Deleting a message takes its attempts along.
CREATE TRIGGER {{schema}}."{{name}}_attempt_cascade" AFTER DELETE ON "{{name}}"
BEGIN
  DELETE FROM "{{name}}_attempt" WHERE seq = old.seq;
END;
