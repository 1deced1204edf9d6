#include "sink/kafka/producer_burial.h"

#include <system_error>

#include "base/detached_thread.h"

namespace outbox::sink {

std::shared_ptr<Producer> ProducerBurial::Share(std::unique_ptr<Producer> producer) {
  return {producer.release(),
          [self = shared_from_this()](Producer* ended) noexcept { self->Bury(ended); }};
}

void ProducerBurial::Bury(Producer* producer) noexcept {
  {
    const std::lock_guard lock(mutex_);
    ++ending_;
  }
  const auto end = [self = shared_from_this(), producer] {
    delete producer;
    const std::lock_guard lock(self->mutex_);
    --self->ending_;
    self->changed_.notify_all();
  };
  try {
    base::Detach(end);
  } catch (const std::system_error&) {
    end();
  }
}

void ProducerBurial::Await(Deadline deadline) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline.at(), [&] { return ending_ == 0; });
}

}  // namespace outbox::sink
