-- A number that changes when another connection has committed.
PRAGMA "main".data_version;
