-- Version and the settings that decide what a commit costs.
SELECT 'PostgreSQL ' || current_setting('server_version') || ', ' || (
  SELECT string_agg(name || '=' || current_setting(name), ' ' ORDER BY name)
  FROM unnest(ARRAY['fsync', 'synchronous_commit', 'full_page_writes', 'shared_buffers',
                    'max_wal_size', 'autovacuum']) AS name)
