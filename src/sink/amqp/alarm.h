// Alarm: calls a function at a given moment, on a thread of its own, until it is cleared.
//
// Threads: Set and Clear may be called from any, but not from the function itself.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "outbox/deadline.h"

namespace outbox::sink {

class Alarm {
 public:
  // What to do, and when to do it again, if at all.
  using Ring = std::function<std::optional<Deadline>()>;

  explicit Alarm(Ring ring) : ring_(std::move(ring)) {}
  ~Alarm();
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  // Replaces the moment that was set before. The thread starts with the first.
  void Set(Deadline at);
  // When it returns, the function is not running and will not run before the next Set.
  void Clear();

 private:
  void Run();

  const Ring ring_;
  std::mutex mutex_;  // held while ringing
  std::condition_variable wake_;
  std::optional<Deadline> at_;
  // What the thread waits for. Later moments need no wake-up: it looks again when this one comes.
  std::optional<Deadline> waits_for_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace outbox::sink
