// Workers: a fixed number of threads that run handlers, and a queue of bounded length before them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "outbox/deadline.h"

namespace outbox::service {

class Workers {
 public:
  Workers(std::size_t threads, std::size_t queue_max);
  // Waits for what is running; what is still queued is not run.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // False when the queue is full, or after Stop. `work` does not throw. Any thread.
  bool Submit(std::function<void()> work);

  // Takes no more and drops what is queued; true when nothing runs any more by the deadline.
  bool Stop(Deadline deadline);

  std::size_t queued() const;

 private:
  void Run();

  const std::size_t queue_max_;

  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable idle_;
  std::deque<std::function<void()>> queue_;
  std::size_t running_ = 0;
  bool stopped_ = false;

  std::vector<std::thread> threads_;
};

}  // namespace outbox::service
