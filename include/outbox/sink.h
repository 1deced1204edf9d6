// Sink: the far end of the data path. A broker, a webhook, a file, a function of yours.
//
// The relay hands a sink a batch and reads back one Status per message. It never looks into a
// payload and never asks what kind of sink it has.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "outbox/deadline.h"
#include "outbox/message.h"
#include "outbox/status.h"

namespace outbox {

// What the relay needs to know about a sink to feed it well.
struct SinkTraits {
  // The most messages one Publish call gets. 1 for sinks that handle messages one by one.
  std::size_t batch_max = 1000;
  // How many Publish calls may run at the same time, on different threads; 1024 at most.
  std::size_t concurrency = 1;
};

// One instance per configured destination. Publish may be called from up to traits().concurrency
// threads at once; Open and Close are called by one thread, before the first and after the last
// Publish that returns in time. These threads are the relay's: Relay::Stop, called in a sink, does
// not wait.
class Sink {
 public:
  virtual ~Sink() = default;

  // For logs and metrics: "file", "rabbitmq". Never contains a credential.
  virtual std::string_view name() const noexcept = 0;
  virtual SinkTraits traits() const noexcept { return {}; }

  // Makes ready. Called again after a failure. A failure that waiting may cure is kSinkDown. Must
  // return by `deadline`; while one has not, nothing else is called, and messages wait without
  // costing an attempt.
  virtual Status Open(Deadline deadline) = 0;

  // Delivers `batch` and writes one Status per message into `results`, in the same order. OK only
  // after the destination has confirmed the message. The results arrive as Status::NotAttempted:
  // a sink that gives up half-way need not touch the rest, which then costs those messages no
  // attempt (but a call that touches none costs all of them one). A message that cannot be
  // delivered for a while where others can is Status::Postponed. Must return by `deadline`; a call
  // that does not is abandoned, its results ignored, its messages retried. Exceptions become
  // failures of what has no result yet.
  virtual void Publish(std::span<const Message> batch, std::span<Status> results,
                       Deadline deadline) = 0;

  // Flushes and lets go. Never fails: what was confirmed is confirmed.
  virtual void Close(Deadline deadline) noexcept { (void)deadline; }
};

// A dispatcher in its simplest form: a function called once per message. Success means delivered;
// a failure is retried by its disposition; an exception is a failure that may be retried. It may
// ask its relay to stop (Relay::Stop), and can not wait for that.
using Handler = std::function<Status(const Message& message, Deadline deadline)>;

// A sink that calls `handler`, up to `concurrency` messages (1 to 1024) at a time on as many
// threads.
std::shared_ptr<Sink> MakeCallbackSink(Handler handler, std::size_t concurrency = 8);

}  // namespace outbox
