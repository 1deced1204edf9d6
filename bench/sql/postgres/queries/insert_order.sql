-- One business row. $1 customer, $2 total
INSERT INTO orders (customer, total) VALUES ($1::text, $2::numeric)
