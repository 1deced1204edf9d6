// ProducerBurial: ends producers on threads of their own. librdkafka waits for its own threads, and
// one of those may be looking up a host name for minutes.
//
// Threads: any. Keeps itself alive until the last producer has ended.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>

#include "outbox/deadline.h"
#include "sink/kafka/producer.h"

namespace outbox::sink {

class ProducerBurial : public std::enable_shared_from_this<ProducerBurial> {
 public:
  // The producer is ended here when its last user lets go.
  std::shared_ptr<Producer> Share(std::unique_ptr<Producer> producer);
  // Returns when all that were let go have ended, or at the deadline.
  void Await(Deadline deadline);

 private:
  void Bury(Producer* producer) noexcept;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t ending_ = 0;
};

}  // namespace outbox::sink
