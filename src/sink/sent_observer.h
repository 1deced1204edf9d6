// SentObserver: is told when the messages of a Publish call have left and only their confirmation
// is awaited, for whoever wants to see the two apart.
//
//   const SentObserver observer([&] { … });
//   sink.Publish(batch, results, deadline);
//
// Threads: hears of the calls on its own thread only, as long as it lives; one at a time.
#pragma once

#include <functional>
#include <utility>

namespace outbox::sink {

class SentObserver {
 public:
  explicit SentObserver(std::function<void()> told)
      : told_(std::move(told)), before_(std::exchange(here, this)) {}
  ~SentObserver() { here = before_; }
  SentObserver(const SentObserver&) = delete;
  SentObserver& operator=(const SentObserver&) = delete;

  // For sinks: everything of the call that could be sent has been handed to the destination.
  static void Tell() {
    if (here != nullptr) here->told_();
  }

 private:
  static inline thread_local SentObserver* here = nullptr;

  const std::function<void()> told_;
  SentObserver* const before_;
};

}  // namespace outbox::sink
