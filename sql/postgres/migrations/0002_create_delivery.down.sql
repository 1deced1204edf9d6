DROP TABLE {{delivery}};
