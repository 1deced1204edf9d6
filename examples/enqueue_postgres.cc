// Places one order: the business row and its event in one transaction, through libpq.
//
//   enqueue_postgres postgres://localhost/shop
//
// The outbox table must exist: outboxd migrate up --db … --table orders_outbox
#include <libpq-fe.h>

#include <cstdio>
#include <memory>
#include <string>

#include "outbox/enqueue.h"

namespace {

bool Run(PGconn* conn, const char* sql) {
  const std::unique_ptr<PGresult, void (*)(PGresult*)> result(PQexec(conn, sql), PQclear);
  if (PQresultStatus(result.get()) == PGRES_COMMAND_OK) return true;
  std::fprintf(stderr, "%s", PQerrorMessage(conn));
  return false;
}

// [snippet enqueue]
bool PlaceOrder(PGconn* conn) {
  if (!Run(conn, "BEGIN")) return false;
  if (!Run(conn, "INSERT INTO orders (number, customer) VALUES (42, 'ada')")) return false;

  const auto enqueued = outbox::Enqueue(conn, "orders_outbox",
                                        {.topic = "shop.order.placed.v1",
                                         .payload = R"({"order": 42, "customer": "ada"})",
                                         .key = "ada",
                                         .dedupe_key = "order-42"});
  if (!enqueued.ok()) {
    std::fprintf(stderr, "%s\n", enqueued.error().ToString().c_str());
    return Run(conn, "ROLLBACK") && false;
  }
  return Run(conn, "COMMIT");  // both, or neither
}
// [end]

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: enqueue_postgres DATABASE\n");
    return 2;
  }
  const std::unique_ptr<PGconn, void (*)(PGconn*)> conn(PQconnectdb(argv[1]), PQfinish);
  if (PQstatus(conn.get()) != CONNECTION_OK) {
    std::fprintf(stderr, "%s", PQerrorMessage(conn.get()));
    return 1;
  }
  if (!Run(conn.get(),
           "CREATE TABLE IF NOT EXISTS orders (number int PRIMARY KEY, customer text)")) {
    return 1;
  }
  return PlaceOrder(conn.get()) ? 0 : 1;
}
