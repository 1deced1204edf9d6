-- A pause used to be called a hold: moves what an older version left. Safe to run again.
CREATE TABLE IF NOT EXISTS "main"."outbox_hold" (table_name, sink, since, held_by, reason);
INSERT OR IGNORE INTO "main"."outbox_pause" (table_name, sink, since, paused_by, reason)
SELECT table_name, sink, since, held_by, reason FROM "main"."outbox_hold";
DROP TABLE "main"."outbox_hold";
