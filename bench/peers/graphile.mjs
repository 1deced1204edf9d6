// Drains COUNT waiting jobs that do nothing with graphile-worker.
//   node graphile.mjs URL COUNT plain|local
import { Logger, makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";
import { payloadSql, report } from "./payload.mjs";

const [url, count, mode] = [process.argv[2], Number(process.argv[3]), process.argv[4]];
const logger = new Logger(() => () => {});
const pgPool = new pg.Pool({ connectionString: url, max: 26 });

await pgPool.query("drop schema if exists graphile_worker cascade");
const utils = await makeWorkerUtils({ pgPool, logger });
await utils.migrate();
await pgPool.query(`select graphile_worker.add_jobs(array(
  select json_populate_record(null::graphile_worker.job_spec,
                              json_build_object('identifier', 'order', 'payload', ${payloadSql}))
  from generate_series(1, ${count}) i))`);
await pgPool.query("vacuum analyze graphile_worker._private_jobs");
await pgPool.query("checkpoint");

const worker = { concurrentJobs: 24, pollInterval: 500 };
if (mode === "local") {
  Object.assign(worker, { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 });
}
await report(count, () => new Promise((resolve) => {
  let done = 0;
  run({ pgPool, logger, preset: { worker }, taskList: { order: () => { if (++done === count) resolve(); } } });
}));
