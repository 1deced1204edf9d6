// What an application does with the installed library: enqueue in its own transaction, deliver with
// a callback. Ends 0 when the message came through.
//
//   consumer DATABASE_FILE     (migrated: it has the table orders_outbox)
#include <outbox/outbox.h>
#include <sqlite3.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  sqlite3* shop = nullptr;
  if (sqlite3_open(argv[1], &shop) != SQLITE_OK) return 1;
  sqlite3_exec(shop, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr);
  const auto enqueued = outbox::Enqueue(
      shop, "orders_outbox", {.topic = "orders.order.created.v1", .payload = R"({"order":1})"});
  sqlite3_exec(shop, "COMMIT", nullptr, nullptr, nullptr);
  sqlite3_close(shop);
  if (!enqueued.ok()) {
    std::fprintf(stderr, "%s\n", enqueued.error().ToString().c_str());
    return 1;
  }

  std::atomic<int> delivered{0};
  const auto count = [&](const outbox::Message& message, outbox::Deadline) {
    delivered += message.id == enqueued->id ? 1 : 0;
    return outbox::Status::Ok();
  };
  outbox::RelayOptions options;
  options.table = "orders_outbox";
  const auto relay = outbox::Relay::Start(std::string("sqlite:") + argv[1], options,
                                          outbox::MakeCallbackSink(count));
  if (!relay.ok()) {
    std::fprintf(stderr, "%s\n", relay.error().ToString().c_str());
    return 1;
  }
  const auto drained = (*relay)->Drain(outbox::Deadline::After(std::chrono::seconds(30)));
  const auto stopped = (*relay)->Stop();
  return drained.ok() && stopped.ok() && delivered == 1 ? 0 : 1;
}
