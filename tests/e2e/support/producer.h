// Producer: an application that commits events, and changes its mind about some of them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <limits>
#include <string>
#include <thread>

namespace outbox::testing {

class SqlConnection;

struct Load {
  std::string table = "orders_outbox";
  std::size_t per_transaction = 10;
  // Of a hundred transactions, this many are rolled back.
  int rollback_percent = 10;
  std::size_t payload_bytes = 100;
  // Background load only: the wait after each transaction, and when to end by itself.
  std::chrono::milliseconds pause{5};
  std::size_t transactions_max = std::numeric_limits<std::size_t>::max();
};

// Runs `transactions` transactions on this thread, each with the ids of its events in `expected`.
// False when one failed.
bool Produce(SqlConnection& connection, const Load& load, std::size_t transactions);

// The same in the background until it is stopped. A lost connection is opened again; a transaction
// whose COMMIT got no answer counts as what the database says in the end: `expected` knows.
class Producer {
 public:
  Producer(std::string url, Load load);
  ~Producer() { Stop(); }
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  void Stop();
  // Transactions that ended, either way.
  std::size_t transactions() const { return transactions_; }

 private:
  void Run();

  const std::string url_;
  const Load load_;
  std::atomic<bool> stop_{false};
  std::atomic<std::size_t> transactions_{0};
  std::thread thread_;
};

}  // namespace outbox::testing
