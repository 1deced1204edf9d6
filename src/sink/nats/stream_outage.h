// StreamOutage: tells a stream that is away from a destination that is.
//
// A stream without a leader looks, to its messages, as JetStream does when it is away altogether.
// The difference is whether anything else gets through: a message that was sent after one that
// reached no stream, and was stored. Then only messages of the stream that is away have to wait.
//
// Threads: any.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

namespace outbox::sink {

class StreamOutage {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // What became of the messages of a call, by their place in it.
  struct Answers {
    std::uint64_t call = 0;                 // calls are numbered as they are sent
    std::optional<std::size_t> first_away;  // whose stream is away
    std::optional<std::size_t> last_stored;
  };

  // How long the messages whose stream is away are to wait: longer, the longer this lasts. None
  // while nothing else is known to get through, and for a call without such messages.
  std::optional<std::chrono::milliseconds> Note(const Answers& answers, TimePoint now);

 private:
  struct Spell {
    std::uint64_t call = 0;  // of the first message whose stream was away
    std::size_t index = 0;
    TimePoint since{};
    TimePoint latest{};
    std::optional<TimePoint> stored;  // when something else last got through
  };

  std::mutex mutex_;
  std::optional<Spell> spell_;  // guarded by mutex_
};

}  // namespace outbox::sink
