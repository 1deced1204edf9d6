-- For one transaction of an operator's: plans by index, and none that is compiled first. A table may have
-- grown by millions of rows since it was last analysed; the planner would then read all of it to count ten
-- thousand rows.
SELECT set_config('enable_seqscan', 'off', true),
       set_config('enable_bitmapscan', 'off', true),
       set_config('jit', 'off', true)
