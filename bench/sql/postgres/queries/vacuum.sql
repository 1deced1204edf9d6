-- What autovacuum would have done by now.
VACUUM (ANALYZE) {{table}}
