// RelaySwitch: pauses and resumes relays of this process, for operators. Whoever runs the
// relays connects it; until then there are none.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <string_view>
#include <utility>

namespace outbox::service {

class RelaySwitch {
 public:
  // Pauses, or resumes, the relays of a table, or the one that serves this sink of it. Returns how
  // many these are.
  using Turn =
      std::function<std::size_t(std::string_view table, std::string_view sink, bool pause)>;

  // Null disconnects, and returns when no call is under way.
  void Connect(Turn turn) {
    const std::lock_guard lock(mutex_);
    turn_ = std::move(turn);
  }

  std::size_t Pause(std::string_view table, std::string_view sink, bool pause) {
    const std::lock_guard lock(mutex_);
    return turn_ ? turn_(table, sink, pause) : 0;
  }

 private:
  std::mutex mutex_;
  Turn turn_;  // guarded by mutex_
};

}  // namespace outbox::service
