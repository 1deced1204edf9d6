-- The business table of the enqueue scenario: what an application would write anyway.
CREATE TABLE orders (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  customer   text NOT NULL,
  total      numeric NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
)
