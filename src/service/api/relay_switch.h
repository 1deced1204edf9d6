// RelaySwitch: holds relays of this process and lets them go, for operators. Whoever runs the
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
  // Holds, or lets go, the relays of a table, or the one that serves this sink of it. Returns how
  // many these are.
  using Turn = std::function<std::size_t(std::string_view table, std::string_view sink, bool hold)>;

  // Null disconnects, and returns when no call is under way.
  void Connect(Turn turn) {
    const std::lock_guard lock(mutex_);
    turn_ = std::move(turn);
  }

  std::size_t Hold(std::string_view table, std::string_view sink, bool hold) {
    const std::lock_guard lock(mutex_);
    return turn_ ? turn_(table, sink, hold) : 0;
  }

 private:
  std::mutex mutex_;
  Turn turn_;  // guarded by mutex_
};

}  // namespace outbox::service
