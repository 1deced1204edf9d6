-- Says no to a new row that no enqueue writes: one that would never be due, or headers that a relay could
-- not hold. Whoever may insert, may insert such a row; a domain cannot tell it from a dead one, whose
-- available_at is infinity, and would rewrite the table.
--
-- On INSERT alone, and AFTER with a WHEN: a row that is sound costs two comparisons and no call. The
-- function decides; see shared_rules.sql.
CREATE TRIGGER "{{name}}_rules" AFTER INSERT ON {{table}} FOR EACH ROW
WHEN (NEW.available_at > '9999-12-31 23:59:59.999999+00' OR NEW.available_at < '0001-01-01 00:00:00+00'
  OR pg_catalog.pg_column_size(NEW.headers) > 2000)
EXECUTE FUNCTION outbox.refuse_row();
