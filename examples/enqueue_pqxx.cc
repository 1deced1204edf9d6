// Places one order through libpqxx, with the adapter of pqxx_adapter.h.
//
//   enqueue_pqxx postgres://localhost/shop
#include <cstdio>
#include <exception>
#include <pqxx/pqxx>
#include <type_traits>

#include "outbox/enqueue.h"
#include "pqxx_adapter.h"

namespace {

// What commits each statement on its own does not even compile.
static_assert(!std::is_constructible_v<PqxxExecutor, pqxx::nontransaction&>);

int PlaceOrder(pqxx::connection& connection) {
  pqxx::work work(connection);
  work.exec0("CREATE TABLE IF NOT EXISTS orders (number int PRIMARY KEY, customer text)");
  work.exec0("INSERT INTO orders (number, customer) VALUES (44, 'ken')");
  PqxxExecutor transaction(work);
  const auto enqueued = outbox::Enqueue(
      transaction, "orders_outbox",
      {.topic = "shop.order.placed.v1", .payload = R"({"order": 44, "customer": "ken"})"});
  if (!enqueued.ok()) {
    std::fprintf(stderr, "%s\n", enqueued.error().ToString().c_str());
    return 1;
  }
  work.commit();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: enqueue_pqxx DATABASE\n");
    return 2;
  }
  try {
    pqxx::connection connection(argv[1]);
    return PlaceOrder(connection);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
