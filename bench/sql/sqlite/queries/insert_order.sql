-- One business row.
INSERT INTO orders (customer, total) VALUES ('customer 1', 12.5)
