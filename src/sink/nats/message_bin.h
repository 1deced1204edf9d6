// MessageBin: messages that are done with.
//
// The client frees a message in a thread of its own, which it wakes for each: half of what
// publishing costs. Thrown away together, they wake it once.
//
// Threads: one at a time.
#pragma once

#include <nats/nats.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "base/handle.h"

namespace outbox::sink {

using NatsMessage = base::UniqueHandle<natsMsg, natsMsg_Destroy>;

class MessageBin {
 public:
  void Add(NatsMessage message) {
    bytes_ += static_cast<std::size_t>(natsMsg_GetDataLength(message.get()));
    messages_.push_back(std::move(message));
    if (messages_.size() < kMessagesMax && bytes_ < kBytesMax) return;
    messages_.clear();
    bytes_ = 0;
  }

 private:
  static constexpr std::size_t kMessagesMax = 256;
  static constexpr std::size_t kBytesMax = std::size_t{1} << 20;

  std::vector<NatsMessage> messages_;
  std::size_t bytes_ = 0;
};

}  // namespace outbox::sink
