// Drains COUNT waiting jobs with pg-boss, four fetch-and-complete loops side by side.
//   node pgboss.mjs URL COUNT BATCH
import * as module from "pg-boss";
import { payload, report } from "./payload.mjs";

const PgBoss = module.PgBoss ?? module.default;
const [url, count, batchSize] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const kInsertAtOnce = 5000;
const kLoops = 4;

const boss = new PgBoss({ connectionString: url, schema: "pgboss_bench", max: 12 });
boss.on("error", (error) => console.error(error.message));
await boss.start();
await boss.createQueue("orders");
for (let first = 0; first < count; first += kInsertAtOnce) {
  const length = Math.min(kInsertAtOnce, count - first);
  await boss.insert(Array.from({ length }, (_, i) => ({ name: "orders", data: payload(first + i) })));
}

await report(count, () => Promise.all(Array.from({ length: kLoops }, async () => {
  for (;;) {
    const jobs = await boss.fetch("orders", { batchSize });
    if (!jobs || jobs.length === 0) return;
    await boss.complete("orders", jobs.map((job) => job.id));
  }
})));
