-- Says no to a new row that no enqueue writes: one that would never be due, or what a relay could not hold.
-- Only new rows: the dead and those that were split have an available_at of their own.
CREATE TRIGGER {{schema}}."{{name}}_rules" AFTER INSERT ON "{{name}}"
WHEN (NEW.status <> 'dead' AND (typeof(NEW.available_at) <> 'integer'
    OR NEW.available_at NOT BETWEEN -62135596800000 AND 253402300799999))
  OR length(CAST(NEW.headers AS BLOB)) > 524288
  OR length(CAST(NEW.payload AS BLOB)) > 16777216
BEGIN
  SELECT CASE
    WHEN length(CAST(NEW.headers AS BLOB)) > 524288
      THEN RAISE(ABORT, 'headers: have more than 524288 bytes')
    WHEN length(CAST(NEW.payload AS BLOB)) > 16777216
      THEN RAISE(ABORT, 'payload: has more than 16777216 bytes')
    ELSE RAISE(ABORT, 'available_at: is not within the years 1 to 9999, in milliseconds since 1970') END;
END;
