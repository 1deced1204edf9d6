// A clock that tests move and a sink that does as it is told.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "outbox/sink.h"
#include "sink/decorate/clock.h"

namespace outbox::sink {

class FakeClock final : public Clock {
 public:
  TimePoint Now() const override {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  // Time passes at once.
  void SleepUntil(TimePoint at) override {
    const std::lock_guard lock(mutex_);
    if (at > now_) now_ = at;
  }
  void Advance(Duration by) { SleepUntil(Now() + by); }
  Deadline After(Duration wait) const { return Deadline(Now() + wait); }

 private:
  mutable std::mutex mutex_;
  TimePoint now_{std::chrono::hours(1)};
};

class FakeSink final : public Sink {
 public:
  explicit FakeSink(SinkTraits traits = {}) : traits_(traits) {}

  std::string_view name() const noexcept override { return "fake"; }
  SinkTraits traits() const noexcept override { return traits_; }
  Status Open(Deadline) override {
    const std::lock_guard lock(mutex_);
    ++opened;
    return Status::Ok();
  }
  void Publish(std::span<const Message> batch, std::span<Status> results, Deadline) override {
    const std::lock_guard lock(mutex_);
    calls.push_back(batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i) results[i] = answer(batch[i]);
  }

  // To be changed and read while nothing is published.
  std::function<Status(const Message&)> answer = [](const Message&) { return Status::Ok(); };
  std::vector<std::size_t> calls;  // their sizes
  int opened = 0;

 private:
  const SinkTraits traits_;
  std::mutex mutex_;
};

inline std::vector<Status> PublishTo(Sink& sink, std::size_t count, Deadline deadline) {
  const std::vector<Message> batch(count);
  std::vector<Status> results(count, Status::NotAttempted());
  sink.Publish(batch, results, deadline);
  return results;
}

}  // namespace outbox::sink
