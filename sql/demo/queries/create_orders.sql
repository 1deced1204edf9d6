-- The shop's business table: what an application would have anyway. Both dialects.
-- event_id is there for the audit at the end; an application needs no such column.
CREATE TABLE {{table}} (
  number   integer NOT NULL PRIMARY KEY,
  customer text    NOT NULL,
  cents    integer NOT NULL,
  event_id text    NOT NULL
)
