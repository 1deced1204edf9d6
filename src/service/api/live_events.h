// LiveEvents: what relays do, as server-sent events: `relay` when one changes its state, and
// `counters` once a second while somebody listens.
//
// Threads: one of its own. A slow listener is dropped and delays nobody, relays least of all.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "outbox/message.h"
#include "service/api/relay_board.h"
#include "service/http/event_hub.h"

namespace outbox::service {

class LiveEvents {
 public:
  // `board` outlives it.
  explicit LiveEvents(const RelayBoard& board);
  ~LiveEvents();
  LiveEvents(const LiveEvents&) = delete;
  LiveEvents& operator=(const LiveEvents&) = delete;

  // Whether a listener may still listen: asked about once a second, on a thread of its own.
  using StillWelcome = std::function<bool()>;

  // A new listener, who is told at once where everything stands, and is let go a moment after
  // `until`, when its token has expired, or when it is not welcome any more.
  Result<std::shared_ptr<EventStream>> Listen(std::optional<Timestamp> until = std::nullopt,
                                              StillWelcome still_welcome = {});
  void Changed(const RelaySeen& relay);
  // Ends all listeners.
  void Close() { hub_.Close(); }

 private:
  struct Limited {
    Timestamp until;
    StillWelcome still_welcome;
    std::weak_ptr<EventStream> stream;
  };

  void Run();
  static void LetGoOfExpired(std::vector<Limited>& limited);
  std::string Counters() const;

  const RelayBoard& board_;
  EventHub hub_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;         // guarded by mutex_
  std::vector<Limited> limited_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace outbox::service
