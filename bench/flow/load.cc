#include "bench/flow/load.h"

#include <algorithm>
#include <thread>

#include "bench/figure.h"

namespace outbox::bench {
namespace {

// More than any queue here delivers in a run; a producer that gets this far stops.
constexpr std::size_t kEventsPerSecondMax = 250'000;
constexpr std::chrono::minutes kStandstill{1};

}  // namespace

Load::Load(const LoadOptions& options)
    : options_(options),
      committing_(kEventsPerSecondMax *
                  static_cast<std::size_t>((options.warm_up + options.measured).count()) / 1000),
      arrived_at_(committing_.size()) {}

void Load::Arrived(std::size_t event) {
  if (event >= arrived_at_.size()) return;
  Clock::rep never = 0;
  const Clock::rep now = Clock::now().time_since_epoch().count();
  if (!arrived_at_[event].compare_exchange_strong(never, now)) return;
  never = 0;
  first_arrival_.compare_exchange_strong(never, now);
  if ((arrived_.fetch_add(1) + 1) % options_.batch != 0) return;
  const std::lock_guard lock(mutex_);
  room_.notify_all();
}

bool Load::WaitForRoom(std::size_t produced) {
  std::size_t before = arrived_;
  auto end = Clock::now() + kStandstill;
  while (produced > arrived_ + options_.depth) {
    std::unique_lock lock(mutex_);
    room_.wait_for(lock, std::chrono::milliseconds(1));
    if (arrived_ != before) end = Clock::now() + kStandstill;
    before = arrived_;
    if (Clock::now() > end) return false;
  }
  return true;
}

bool Load::Over() const {
  const Clock::rep first = first_arrival_;
  if (first == 0) return false;
  const Clock::time_point from{Clock::duration{first}};
  return Clock::now() >= from + options_.warm_up + options_.measured;
}

Status Load::Produce(const Transact& transact) {
  while (!Over()) {
    const std::size_t first = produced_.fetch_add(options_.batch);
    const std::size_t end = first + options_.batch;
    if (end > committing_.size()) {
      produced_ -= options_.batch;
      return Status::Ok();
    }
    if (!WaitForRoom(end)) return Status::Retry(Code::kDeadline, "nothing arrives for a minute");
    OUTBOX_RETURN_IF_ERROR(transact(first, options_.batch, [&] {
      const Clock::rep now = Clock::now().time_since_epoch().count();
      for (std::size_t event = first; event < end; ++event) committing_[event] = now;
    }));
  }
  return Status::Ok();
}

Result<LoadResult> Load::Run(const std::vector<Transact>& producers) {
  std::vector<Status> results(producers.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < producers.size(); ++i) {
    threads.emplace_back([&, i] { results[i] = Produce(producers[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  for (Status& result : results) OUTBOX_RETURN_IF_ERROR(std::move(result));
  if (!WaitForRoom(produced_ + options_.depth)) {
    return Status::Retry(Code::kDeadline, "events that were committed did not arrive");
  }
  return Evaluate();
}

LoadResult Load::Evaluate() const {
  const auto from = Clock::time_point{Clock::duration{first_arrival_}} + options_.warm_up;
  const auto until = from + options_.measured;
  std::vector<double> latencies;
  for (std::size_t event = 0; event < produced_; ++event) {
    const Clock::time_point at{Clock::duration{arrived_at_[event]}};
    if (at < from || at >= until) continue;
    latencies.push_back(std::chrono::duration<double, std::milli>(
                            Clock::duration{arrived_at_[event] - committing_[event]})
                            .count());
  }
  LoadResult result{.events = produced_};
  if (latencies.empty()) return result;
  result.rate = static_cast<double>(latencies.size()) /
                std::chrono::duration<double>(options_.measured).count();
  result.p50 = Percentile(latencies, 0.5);
  result.p99 = Percentile(latencies, 0.99);
  return result;
}

}  // namespace outbox::bench
