-- Attempts: what became of each try to deliver a message, while a relay keeps such a history
-- (attempt_history). Written by the statements that settle and claim, read by operators, never by a
-- relay. Rows are only added, and deleted with their message.
--
-- No foreign key, for the reason deliveries have none. What deletes messages deletes their attempts;
-- those it could not know of are removed by the cleaner.
CREATE TABLE {{attempt}} (
  id          uuid         NOT NULL,             -- of the message
  seq         bigint       NOT NULL,             -- of the message
  destination outbox.label NOT NULL DEFAULT '',  -- of the delivery; '' where the message has none
  attempt     integer      NOT NULL,
  worker      text         NOT NULL,             -- the relay's name: locked_by without the claim's own part
  started_at  timestamptz  NOT NULL,             -- when it was claimed
  ended_at    timestamptz  NOT NULL,             -- when it was settled, or its lease ran out
  result      text         NOT NULL,             -- delivered, retry, dead, released or no_outcome
  error_class text,                              -- retry, permanent, in_doubt or sink_down
  error       text
);

-- The history of one message, the cleaner's round.
CREATE INDEX "{{name}}_attempt_message" ON {{attempt}} (seq, ended_at);
