// Subscribers inside an application: the relay hands committed messages to functions by topic.
//
//   event_bus shop.db
//
// The outbox table must exist: outboxd migrate up --db sqlite:shop.db --table orders_outbox
#include "outbox/event_bus.h"

#include <sqlite3.h>

#include <cstdio>
#include <memory>
#include <string>

#include "outbox/enqueue.h"
#include "outbox/relay.h"

namespace {

int Fail(const outbox::Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}

outbox::Status PlaceOrder(sqlite3* db, int number) {
  sqlite3_exec(db, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr);
  const auto enqueued = outbox::Enqueue(
      db, "orders_outbox",
      {.topic = "shop.order.placed.v1", .payload = "{\"order\": " + std::to_string(number) + "}"});
  if (!enqueued.ok()) return enqueued.error();
  sqlite3_exec(db, "COMMIT", nullptr, nullptr, nullptr);
  return outbox::Status::Ok();
}

}  // namespace

// [snippet codec]
struct OrderPlaced {
  int order = 0;
};

template <>
struct outbox::EventCodec<OrderPlaced> {
  static Result<OrderPlaced> Decode(std::string_view payload) {
    OrderPlaced event;  // your JSON library belongs here
    if (std::sscanf(std::string(payload).c_str(), R"({"order": %d})", &event.order) != 1) {
      return Status::Invalid("no order number");
    }
    return event;
  }
};
// [end]

namespace {

// [snippet bus]
outbox::Status SendMail(const OrderPlaced& event, const outbox::Message&) {
  std::printf("mail for order %d\n", event.order);
  return outbox::Status::Ok();
}

outbox::Status Audit(const outbox::Message& message) {
  std::printf("audit %s\n", message.topic.c_str());
  return outbox::Status::Ok();
}

int Deliver(const std::string& database) {
  outbox::EventBus bus;
  const auto mail = bus.Subscribe<OrderPlaced>("shop.order.placed.v1", SendMail);
  const auto audit = bus.Subscribe("shop.#", Audit);

  auto relay = outbox::Relay::Start(database, {.table = "orders_outbox"}, bus.AsSink());
  if (!relay.ok()) return Fail(relay.error());
  const auto drained = (*relay)->Drain(outbox::Deadline::After(std::chrono::seconds(30)));
  if (!drained.ok()) return Fail(drained);
  return (*relay)->Stop().ok() ? 0 : 1;
}
// [end]

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: event_bus FILE\n");
    return 2;
  }
  sqlite3* opened = nullptr;
  const int code = sqlite3_open(argv[1], &opened);
  const std::unique_ptr<sqlite3, int (*)(sqlite3*)> db(opened, sqlite3_close);
  if (code != SQLITE_OK) {
    std::fprintf(stderr, "%s: %s\n", argv[1], sqlite3_errmsg(db.get()));
    return 1;
  }
  sqlite3_busy_timeout(db.get(), 5000);
  if (const auto placed = PlaceOrder(db.get(), 7); !placed.ok()) return Fail(placed);
  return Deliver(std::string("sqlite:") + argv[1]);
}
