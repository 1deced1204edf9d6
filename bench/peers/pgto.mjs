// Drains COUNT waiting messages with pg-transactional-outbox's polling listener.
//   node pgto.mjs URL COUNT BATCH
import pg from "pg";
import outbox from "pg-transactional-outbox";
import { payloadSql, report } from "./payload.mjs";

const [url, count, batch] = [new URL(process.argv[2]), Number(process.argv[3]), Number(process.argv[4])];
const database = url.pathname.slice(1);
const user = url.username || "postgres";
const names = { schema: "pto", table: "outbox", nextMessagesSchema: "pto", nextMessagesName: "next_outbox_messages" };
const kTimeoutMs = 120_000;

const pool = new pg.Pool({ connectionString: process.argv[2] });
await pool.query("drop schema if exists pto cascade; create schema pto");
await pool.query(outbox.DatabaseSetupExporter.createPollingScript(
  { outboxOrInbox: "outbox", database, listenerRole: user, handlerRole: user, ...names }, true));
await pool.query(`insert into pto.outbox
  (id, aggregate_type, aggregate_id, message_type, segment, payload, metadata, concurrency)
  select gen_random_uuid(), 'order', i::text, 'created', (i % 1000)::text, ${payloadSql}, null, 'parallel'
  from generate_series(1, ${count}) i`);
await pool.query("vacuum analyze pto.outbox");

const connection = { host: url.hostname, port: Number(url.port), user, password: url.password || undefined, database, max: 20 };
setTimeout(() => { console.error("pg-transactional-outbox: not done in time"); process.exit(1); }, kTimeoutMs);
await report(count, () => new Promise((resolve) => {
  let done = 0;
  outbox.initializePollingMessageListener(
    {
      outboxOrInbox: "outbox",
      dbHandlerConfig: connection,
      dbListenerConfig: connection,
      settings: {
        dbSchema: names.schema,
        dbTable: names.table,
        nextMessagesFunctionSchema: names.nextMessagesSchema,
        nextMessagesFunctionName: names.nextMessagesName,
        nextMessagesBatchSize: batch,
        nextMessagesPollingIntervalInMs: 10,
        enableMaxAttemptsProtection: false,
        enablePoisonousMessageProtection: false,
      },
    },
    { handle: async () => { if (++done === count) resolve(); } },
    outbox.getDisabledLogger(),
  );
}));
