-- For the relay's own sessions: one plan per prepared statement, by index, for good. A table that was
-- empty when a statement was first planned would otherwise be read from end to end until the next
-- ANALYZE.
SELECT set_config('plan_cache_mode', 'force_generic_plan', false),
       set_config('enable_seqscan', 'off', false),
       set_config('enable_bitmapscan', 'off', false),
       set_config('jit', 'off', false)
