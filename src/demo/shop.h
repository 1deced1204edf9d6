// Shop: the application. Places orders at a given rate, each with its event in one transaction;
// one order in twenty is rolled back at the last moment, and its event must never be seen.
//
// Threads: one of its own. Every method may be called from any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/random.h"
#include "demo/ledger.h"
#include "demo/stage.h"
#include "outbox/status.h"
#include "store/backend.h"

namespace outbox::demo {

class Shop {
 public:
  static constexpr int kRateMin = 1;
  static constexpr int kRateMax = 1000;

  Shop(std::unique_ptr<store::Session> session, const Stage& stage, Ledger& ledger, int rate);
  // Closes.
  ~Shop();

  int rate() const { return rate_; }
  void SetRate(int orders_per_second);
  // No more orders; the one being placed is finished first.
  void Close();
  // The last order that could not be placed, and why; OK when all could.
  Status last_failure() const;

 private:
  void Run();
  void PlaceOrder();
  // Inserts the order and enqueues its event in the open transaction.
  Status Write(const Uuid& event_id);

  const std::unique_ptr<store::Session> session_;
  const std::string insert_order_;
  const std::string outbox_table_;
  Ledger& ledger_;
  base::SeededRandom random_{42};
  std::int64_t number_ = 0;
  std::atomic<int> rate_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool closing_ = false;  // guarded by mutex_
  Status last_failure_;   // guarded by mutex_
  std::thread thread_;
};

}  // namespace outbox::demo
