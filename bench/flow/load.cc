#include "bench/flow/load.h"

#include <sys/resource.h>

#include <algorithm>
#include <thread>

#include "bench/figure.h"

namespace outbox::bench {
namespace {

// More than any queue here delivers in a run; a producer that gets this far stops.
constexpr std::size_t kEventsPerSecondMax = 250'000;
constexpr std::chrono::minutes kStandstill{1};

// Seconds of this process.
double ProcessorTime() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  double seconds = 0;
  for (const timeval& time : {usage.ru_utime, usage.ru_stime}) {
    seconds += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  }
  return seconds;
}

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

Load::Clock::time_point Load::From() const {
  return Clock::time_point{Clock::duration{first_arrival_}} + options_.warm_up;
}

bool Load::Over() const {
  return first_arrival_ != 0 && Clock::now() >= From() + options_.measured;
}

double Load::Measure(const std::function<void()>& mark) {
  while (first_arrival_ == 0) {
    if (producing_ == 0) return 0;  // all have failed
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::this_thread::sleep_until(From());
  mark();
  const double before = ProcessorTime();
  std::this_thread::sleep_until(From() + options_.measured);
  const double after = ProcessorTime();
  mark();
  return after - before;
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

Result<LoadResult> Load::Run(const std::vector<Transact>& producers,
                             const std::function<void()>& mark) {
  std::vector<Status> results(producers.size());
  std::vector<std::thread> threads;
  producing_ = producers.size();
  for (std::size_t i = 0; i < producers.size(); ++i) {
    threads.emplace_back([&, i] {
      results[i] = Produce(producers[i]);
      --producing_;
    });
  }
  const double processor = Measure(mark);
  for (std::thread& thread : threads) thread.join();
  for (Status& result : results) OUTBOX_RETURN_IF_ERROR(std::move(result));
  if (!WaitForRoom(produced_ + options_.depth)) {
    return Status::Retry(Code::kDeadline, "events that were committed did not arrive");
  }
  LoadResult result = Evaluate();
  result.client_processor = processor;
  return result;
}

LoadResult Load::Evaluate() const {
  const auto from = From();
  const auto until = from + options_.measured;
  std::vector<double> latencies;
  for (std::size_t event = 0; event < produced_; ++event) {
    const Clock::time_point at{Clock::duration{arrived_at_[event]}};
    if (at < from || at >= until) continue;
    latencies.push_back(std::chrono::duration<double, std::milli>(
                            Clock::duration{arrived_at_[event] - committing_[event]})
                            .count());
  }
  LoadResult result{.events = latencies.size()};
  if (latencies.empty()) return result;
  result.rate = static_cast<double>(latencies.size()) /
                std::chrono::duration<double>(options_.measured).count();
  result.p50 = Percentile(latencies, 0.5);
  result.p99 = Percentile(latencies, 0.99);
  return result;
}

}  // namespace outbox::bench
