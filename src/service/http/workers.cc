#include "service/http/workers.h"

#include <utility>

namespace outbox::service {

Workers::Workers(std::size_t threads, std::size_t queue_max) : queue_max_(queue_max) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

Workers::~Workers() {
  (void)Stop(Deadline::After({}));
  for (std::thread& thread : threads_) thread.join();
}

bool Workers::Submit(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_ || queue_.size() >= queue_max_) return false;
    queue_.push_back(std::move(work));
  }
  work_.notify_one();
  return true;
}

bool Workers::Stop(Deadline deadline) {
  std::deque<std::function<void()>> dropped;
  std::unique_lock lock(mutex_);
  stopped_ = true;
  dropped.swap(queue_);
  work_.notify_all();
  return idle_.wait_until(lock, deadline.at(), [this] { return running_ == 0; });
}

std::size_t Workers::queued() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

void Workers::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [this] { return stopped_ || !queue_.empty(); });
    if (stopped_) return;
    std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    ++running_;
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
    if (--running_ == 0) idle_.notify_all();
  }
}

}  // namespace outbox::service
