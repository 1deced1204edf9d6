DROP TABLE {{attempt}};
