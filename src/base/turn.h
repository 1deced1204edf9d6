// Turn: a lock that is waited for by a deadline; one holds it at a time. std::timed_mutex, but for
// ThreadSanitizer, which does not know how that one is taken.
//
//   const std::unique_lock turn(turn_, deadline.at());
//   if (!turn) …  // too late
#pragma once

#include <condition_variable>
#include <mutex>

#include "outbox/deadline.h"

namespace outbox::base {

class Turn {
 public:
  // NOLINTBEGIN(readability-identifier-naming): what std::unique_lock calls
  bool try_lock_until(Deadline::Clock::time_point at) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_until(lock, at, [&] { return !taken_; })) return false;
    taken_ = true;
    return true;
  }
  void unlock() {
    const std::lock_guard lock(mutex_);
    taken_ = false;
    changed_.notify_one();
  }
  // NOLINTEND(readability-identifier-naming)

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool taken_ = false;
};

}  // namespace outbox::base
