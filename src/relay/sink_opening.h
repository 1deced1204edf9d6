// SinkOpening: an Open of a sink that runs on a thread of its own, so that one which ignores its
// deadline holds nobody up.
//
// Threads: const methods may be called from any. The thread keeps the sink alive until the Open
// returns; it is not waited for.
#pragma once

#include <future>
#include <memory>
#include <string_view>

#include "outbox/deadline.h"
#include "outbox/sink.h"
#include "outbox/status.h"

namespace outbox::relay {

// Why a sink can not be used while an earlier Open of it runs.
constexpr std::string_view kOpensStill = "the sink is still being opened, past its deadline";

// Opens the sink on this thread. An exception becomes kSinkDown.
Status OpenNow(Sink& sink, Deadline deadline);

class SinkOpening {
 public:
  // None: it has ended.
  SinkOpening() = default;
  // Begins to open; the sink gets `deadline`.
  SinkOpening(std::shared_ptr<Sink> sink, Deadline deadline);

  // False while the sink has not returned. Nobody else may call the sink before.
  bool EndsBy(Deadline deadline) const;
  // What Open returned, or kSinkDown if it does not return by its deadline and a grace.
  Status Await() const;

 private:
  Deadline deadline_{Deadline::Clock::time_point{}};
  std::shared_future<Status> result_;
};

}  // namespace outbox::relay
