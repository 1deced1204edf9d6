#include "sink/amqp/alarm.h"

namespace outbox::sink {

Alarm::~Alarm() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void Alarm::Set(Deadline at) {
  const std::lock_guard lock(mutex_);
  at_ = at;
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  if (!waits_for_ || at.at() < waits_for_->at()) wake_.notify_one();
}

void Alarm::Clear() {
  const std::lock_guard lock(mutex_);
  at_.reset();
}

void Alarm::Run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    waits_for_ = at_;
    if (!at_) {
      wake_.wait(lock);
    } else if (!at_->passed()) {
      wake_.wait_until(lock, waits_for_->at());
    } else {
      at_ = ring_();
    }
  }
}

}  // namespace outbox::sink
