-- Places one order. $1 number  $2 customer  $3 cents  $4 event_id
-- SQLite numbers $1 … $4 by their first appearance, which is the same order.
INSERT INTO {{table}} (number, customer, cents, event_id)
VALUES (CAST($1 AS integer), $2, CAST($3 AS integer), $4)
