// The same work for every peer as bench/sql/postgres/queries/fill.sql makes for outboxd.

export const payloadSql = `json_build_object('orderId', gen_random_uuid(), 'customer', 'customer ' || i,
  'total', i * 1.5, 'currency', 'EUR', 'note', repeat('x', 220))`;

export const payload = (i) => ({
  orderId: crypto.randomUUID(),
  customer: `customer ${i}`,
  total: i * 1.5,
  currency: "EUR",
  note: "x".repeat(220),
});

/** Times `drain` and prints events a second as the last line, which is what the benchmark reads. */
export async function report(count, drain) {
  const start = process.hrtime.bigint();
  await drain();
  const seconds = Number(process.hrtime.bigint() - start) / 1e9;
  console.log(Math.round(count / seconds));
  process.exit(0);
}
