// Producers and a consumer at once with a rival queue. Prints "measuring" and "measured" when that begins and ends;
// the last line is a JSON object of its figures.
//   node flow.mjs URL graphile|pg-boss WARM_UP_MS,MEASURED_MS,PRODUCERS,BATCH,DEPTH
//
// The consumer runs in the main thread, each producer in a thread of its own. As in bench/flow/load.h, producers
// commit batches as fast as they can, at most DEPTH events ahead of the consumer; the warm-up begins when the first
// event arrives, after all have started.
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import * as module from "pg-boss";
import { Logger, makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";
import { payload } from "./payload.mjs";

const PgBoss = module.PgBoss ?? module.default;
const kSchema = "pgboss_bench";
const kEventsPerSecondMax = 250_000;
const kStandstillMs = 60_000;
const now = () => performance.timeOrigin + performance.now();
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// What the producers and the consumer share: counters, and when each event was about to be committed.
const share = (capacity) => ({ counters: new Int32Array(new SharedArrayBuffer(12)),
                               committing: new Float64Array(new SharedArrayBuffer(8 * capacity)) });
const kProduced = 0, kArrived = 1, kOver = 2;

const queues = {
  graphile: {
    async setUp(url) {
      const pgPool = new pg.Pool({ connectionString: url }).on("error", (error) => console.error(error.message));
      await pgPool.query("drop schema if exists graphile_worker cascade");
      await (await makeWorkerUtils({ pgPool, logger: new Logger(() => () => {}) })).migrate();
      await pgPool.end();
    },
    async consume(url, arrived) {
      const pgPool = new pg.Pool({ connectionString: url, max: 26 }).on("error", (error) => console.error(error.message));
      const worker = { concurrentJobs: 24, pollInterval: 500, localQueue: { size: 500 },
                       completeJobBatchDelay: 0, failJobBatchDelay: 0 };
      await run({ pgPool, logger: new Logger(() => () => {}), preset: { worker },
                  taskList: { order: (event) => arrived(event.number) } });
    },
    async inserter() {
      return (client, events) => client.query(
        `select graphile_worker.add_jobs(array(
           select json_populate_record(null::graphile_worker.job_spec,
                                       json_build_object('identifier', 'order', 'payload', event))
           from json_array_elements($1::json) event))`, [JSON.stringify(events)]);
    },
  },
  "pg-boss": {
    async setUp(url) {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      await client.query(`drop schema if exists ${kSchema} cascade`);
      await client.end();
      const boss = new PgBoss({ connectionString: url, schema: kSchema });
      await boss.start();
      await boss.createQueue("orders");
      await boss.stop({ graceful: false });
    },
    async consume(url, arrived) {
      const boss = new PgBoss({ connectionString: url, schema: kSchema, max: 12 });
      boss.on("error", (error) => console.error(error.message));
      await boss.start();
      for (let loop = 0; loop < 4; ++loop) {
        (async () => {
          for (;;) {
            const jobs = await boss.fetch("orders", { batchSize: 1000 });
            if (!jobs?.length) { await pause(1); continue; }
            for (const job of jobs) arrived(job.data.number);
            await boss.complete("orders", jobs.map((job) => job.id));
          }
        })();
      }
    },
    async inserter(url) {
      const boss = new PgBoss({ connectionString: url, schema: kSchema, supervise: false, schedule: false,
                                migrate: false, max: 2 });
      await boss.start();
      return (client, events) => boss.insert(
        events.map((data) => ({ name: "orders", data })),
        { db: { executeSql: (text, values) => client.query(text, values) } });
    },
  },
};

async function produce({ url, name, batch, depth, counters, committing }) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const insert = await queues[name].inserter(url);
  parentPort.postMessage("ready");
  await new Promise((resolve) => parentPort.once("message", resolve));
  while (!Atomics.load(counters, kOver)) {
    const first = Atomics.add(counters, kProduced, batch);
    if (first + batch > committing.length) { Atomics.sub(counters, kProduced, batch); break; }
    while (first + batch > Atomics.load(counters, kArrived) + depth) await pause(1);
    await client.query("begin");
    await insert(client, Array.from({ length: batch }, (_, i) => ({ number: first + i, ...payload(first + i) })));
    committing.fill(now(), first, first + batch);
    await client.query("commit");
  }
  parentPort.postMessage("done");
}

// A producer in a thread: `ready` when it has connected, `done` when it has committed its last batch.
function producer(data) {
  const worker = new Worker(new URL(import.meta.url), { workerData: data });
  const says = (word) => new Promise((resolve, reject) => {
    worker.on("message", (message) => { if (message === word) resolve(); });
    worker.on("error", reject);
  });
  return { ready: says("ready"), done: says("done"), go: () => worker.postMessage("go") };
}

async function main(url, name, numbers) {
  const [warmUp, measured, producers, batch, depth] = numbers.split(",").map(Number);
  const { counters, committing } = share(Math.ceil((warmUp + measured) / 1000) * kEventsPerSecondMax);
  await queues[name].setUp(url);

  let from = Infinity, until = Infinity;
  let lastArrival = now();
  let processor, spent;
  const latencies = [];
  const measure = () => {
    from = lastArrival + warmUp;
    until = from + measured;
    setTimeout(() => { processor = process.cpuUsage(); console.log("measuring"); }, warmUp);
    setTimeout(() => {
      spent = process.cpuUsage(processor);
      console.log("measured");
      Atomics.store(counters, kOver, 1);
    }, warmUp + measured);
  };
  await queues[name].consume(url, (event) => {
    lastArrival = now();
    if (Atomics.add(counters, kArrived, 1) === 0) measure();
    if (lastArrival >= from && lastArrival < until) latencies.push(lastArrival - committing[event]);
  });
  const threads = Array.from({ length: producers },
                             () => producer({ url, name, batch, depth, counters, committing }));
  await Promise.all(threads.map((thread) => thread.ready));
  lastArrival = now();
  setInterval(() => {
    if (now() - lastArrival > kStandstillMs) { console.error("nothing arrives for a minute"); process.exit(1); }
  }, 1000);
  for (const thread of threads) thread.go();
  await Promise.all(threads.map((thread) => thread.done));
  while (counters[kArrived] < counters[kProduced]) await pause(10);

  latencies.sort((a, b) => a - b);
  const percentile = (fraction) => latencies[Math.max(0, Math.ceil(fraction * latencies.length) - 1)] ?? 0;
  console.log(JSON.stringify({ events: latencies.length, rate: Math.round(latencies.length / (measured / 1000)),
                               p50: percentile(0.5), p99: percentile(0.99),
                               processor: (spent.user + spent.system) / 1e6 }));
  process.exit(0);
}

if (isMainThread) await main(...process.argv.slice(2));
else await produce(workerData);
