#include "tests/e2e/support/producer.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/text.h"
#include "outbox/enqueue.h"
#include "tests/e2e/support/sql.h"

namespace outbox::testing {
namespace {

bool ProduceOne(SqlConnection& connection, const Load& load, std::size_t number) {
  std::vector<NewMessage> messages(load.per_transaction);
  std::string expected = "INSERT INTO expected (id) VALUES ";
  for (NewMessage& message : messages) {
    message.id = Uuid::NewV7();
    message.topic = "orders.order.created.v1";
    message.payload = base::StrCat(R"({"number":)", number, R"(,"fill":")",
                                   std::string(load.payload_bytes, 'x'), R"("})");
    expected +=
        base::StrCat(&message == messages.data() ? "('" : ",('", message.id->ToString(), "')");
  }
  // Spread evenly, so that short runs have their share too.
  const std::size_t percent = static_cast<std::size_t>(load.rollback_percent);
  const bool rollback = number * percent / 100 != (number + 1) * percent / 100;
  if (!connection.Execute("BEGIN") || !connection.Execute(expected)) return false;
  if (!connection.EnqueueMany(load.table, messages).ok()) {
    connection.Execute("ROLLBACK");
    return false;
  }
  return connection.Execute(rollback ? "ROLLBACK" : "COMMIT");
}

}  // namespace

bool Produce(SqlConnection& connection, const Load& load, std::size_t transactions) {
  for (std::size_t i = 0; i < transactions; ++i) {
    if (!ProduceOne(connection, load, i)) return false;
  }
  return true;
}

Producer::Producer(std::string url, Load load)
    : url_(std::move(url)), load_(std::move(load)), thread_([this] { Run(); }) {}

void Producer::Stop() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

void Producer::Run() {
  std::unique_ptr<SqlConnection> connection;
  while (!stop_ && transactions_ < load_.transactions_max) {
    if (connection == nullptr) connection = SqlConnection::Open(url_);
    if (connection != nullptr && !ProduceOne(*connection, load_, transactions_)) connection.reset();
    ++transactions_;
    std::this_thread::sleep_for(load_.pause);
  }
}

}  // namespace outbox::testing
