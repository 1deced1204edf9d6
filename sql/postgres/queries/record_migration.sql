-- Records that a table had a migration.
-- $1 table as schema.name, $2 number, $3 name
INSERT INTO outbox.migration (table_name, number, name) VALUES ($1::text, $2::integer, $3::text)
