// EventHub: the same events to every listener. Producers send without knowing who listens.
//
// Threads: any number at once. Send costs a copy of the event for each listener and never waits for
// one; those that have gone are forgotten on the way.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "outbox/status.h"
#include "service/http/event_stream.h"

namespace outbox::service {

class EventHub {
 public:
  explicit EventHub(std::size_t listeners_max = 256, EventStreamOptions options = {})
      : listeners_max_(listeners_max), options_(options) {}

  // A listener, for StreamResponse. kUnavailable when there are as many as there may be.
  Result<std::shared_ptr<EventStream>> Add();

  void Send(std::string_view event, std::string_view json, std::string_view id = {});

  // Ends all listeners; Add works on.
  void Close();

  // Zero: there is no need to make events.
  std::size_t listeners() const;

 private:
  const std::size_t listeners_max_;
  const EventStreamOptions options_;

  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<EventStream>> streams_;
};

}  // namespace outbox::service
