// The relay inside an application: a function of yours receives every committed message.
//
//   inprocess_relay shop.db
//
// The outbox table must exist: outboxd migrate up --db sqlite:shop.db --table orders_outbox
#include <sqlite3.h>

#include <cstdio>
#include <memory>
#include <string>

#include "outbox/enqueue.h"
#include "outbox/relay.h"

namespace {

int Fail(const outbox::Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  if (!status.hint().empty()) std::fprintf(stderr, "hint: %s\n", status.hint().c_str());
  return 1;
}

outbox::Status PlaceOrders(sqlite3* db, int count) {
  sqlite3_exec(db, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr);
  for (int number = 1; number <= count; ++number) {
    const auto enqueued =
        outbox::Enqueue(db, "orders_outbox",
                        {.topic = "shop.order.placed.v1",
                         .payload = "{\"order\": " + std::to_string(number) + "}"});
    if (!enqueued.ok()) return enqueued.error();
  }
  sqlite3_exec(db, "COMMIT", nullptr, nullptr, nullptr);
  return outbox::Status::Ok();
}

// [snippet relay]
outbox::Status SendMail(const outbox::Message& message, outbox::Deadline) {
  std::printf("%s %s\n", message.topic.c_str(), message.payload.c_str());
  return outbox::Status::Ok();  // a failure is retried; an exception is a failure
}

int Deliver(const std::string& database) {
  auto relay = outbox::Relay::Start(database, {.table = "orders_outbox"},
                                    outbox::MakeCallbackSink(SendMail));
  if (!relay.ok()) return Fail(relay.error());

  const auto drained = (*relay)->Drain(outbox::Deadline::After(std::chrono::seconds(30)));
  if (!drained.ok()) return Fail(drained);
  return (*relay)->Stop().ok() ? 0 : 1;
}
// [end]

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: inprocess_relay FILE\n");
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
  if (const auto placed = PlaceOrders(db.get(), 3); !placed.ok()) return Fail(placed);
  return Deliver(std::string("sqlite:") + argv[1]);
}
