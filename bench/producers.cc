#include "bench/producers.h"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"

namespace outbox::bench {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kWarmUp{500};
constexpr std::chrono::milliseconds kSlice{2000};

}  // namespace

NewMessage OrderCreated() {
  return {.topic = "orders.order.created.v1",
          .payload = base::StrCat(R"({"orderId":"0198f7a2-6b1c-7d3e-9a41-5c2f8e7b6a90",)",
                                  R"("customer":"customer 1","total":12.5,"currency":"EUR",)",
                                  R"("note":")", std::string(220, 'x'), "\"}"),
          .event_type = "OrderCreated",
          .key = "customer-1"};
}

Result<double> TransactionRate(std::size_t clients,
                               const std::function<Status(std::size_t client)>& transact) {
  const auto from = steady_clock::now() + kWarmUp;
  const auto until = from + kSlice;
  std::atomic<std::size_t> counted = 0;
  std::vector<Status> failures(clients);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < clients; ++i) {
    threads.emplace_back([&, i] {
      std::size_t mine = 0;
      for (auto now = steady_clock::now(); now < until;) {
        if (failures[i] = transact(i); !failures[i].ok()) return;
        now = steady_clock::now();
        if (now >= from && now < until) ++mine;
      }
      counted += mine;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (Status& failure : failures) OUTBOX_RETURN_IF_ERROR(std::move(failure));
  return static_cast<double>(counted) / std::chrono::duration<double>(kSlice).count();
}

}  // namespace outbox::bench
