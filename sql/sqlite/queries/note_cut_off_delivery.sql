-- Notes the attempts of expired leases as a claim takes them over (deliveries). A trigger of the
-- claiming connection's own, made where a history of attempts is kept: only it sees what the row was.
CREATE TEMP TRIGGER IF NOT EXISTS "{{name}}_delivery_cut_off"
AFTER UPDATE OF locked_by ON {{schema}}."{{name}}_delivery"
WHEN old.status = 'processing' AND new.status = 'processing' AND old.locked_by <> new.locked_by
BEGIN
  INSERT INTO "{{name}}_attempt" (seq, destination, attempt, worker, started_at, ended_at, result)
  VALUES (old.seq, old.destination, old.attempts,
    substr(old.locked_by, 1, length(rtrim(old.locked_by, replace(old.locked_by, '/', ''))) - 1),
    old.updated_at, coalesce(old.locked_until, {{now}}), 'no_outcome');
END;
