// Sink: where a relay publishes. A broker, a webhook, a file, a function of yours.
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
  // Messages in one Publish call, at most. 1 for sinks that handle messages one by one.
  std::size_t batch_max = 1000;
  // How many Publish calls may run at the same time, on different threads; 1024 at most.
  std::size_t concurrency = 1;
};

// One instance per configured sink, shared with the relay that publishes to it.
//
// Threads: Publish may be called on up to traits().concurrency threads at once. Open and Close are
// called by one thread: Open before the first Publish, Close after the last one that returned in
// time. All of these threads are the relay's, so Relay::Stop does not wait when a sink calls it.
class Sink {
 public:
  virtual ~Sink() = default;

  // For logs and metrics: "file", "rabbitmq". Never contains a credential.
  virtual std::string_view name() const noexcept = 0;
  virtual SinkTraits traits() const noexcept { return {}; }

  // Connects. Called again after a failure; one that waiting may cure is Status::SinkDown. Must
  // return by `deadline`. Until Open returns, the relay calls nothing else: messages wait, and no
  // attempt is counted.
  virtual Status Open(Deadline deadline) = 0;

  // Publishes `batch` and writes one Status per message into `results`, in the same order: OK only
  // after the destination has confirmed the message. Each result starts as Status::NotAttempted. A
  // sink that stops half-way leaves the rest as it is, and no attempt is counted for those
  // messages; but a call that sets no result counts one for all of them. Status::Postponed is for
  // a message that cannot be delivered for a while although others can.
  //
  // Must return by `deadline`. A call that does not is abandoned: its results are ignored and its
  // messages retried. `batch` and `results` stay valid until the call returns. If Publish throws,
  // the messages without a result have failed.
  virtual void Publish(std::span<const Message> batch, std::span<Status> results,
                       Deadline deadline) = 0;

  // Flushes and disconnects. Cannot fail: confirmed messages stay confirmed.
  virtual void Close(Deadline deadline) noexcept { (void)deadline; }
};

// A function that is called once per message, on several threads at once. Success means delivered;
// what follows a failure depends on its disposition; an exception is a failure that is retried. A
// handler may ask its relay to stop (Relay::Stop), but cannot wait for the stop.
using Handler = std::function<Status(const Message& message, Deadline deadline)>;

// Returns a sink that calls `handler` for up to `concurrency` messages (1 to 1024) at a time, on as
// many threads.
std::shared_ptr<Sink> MakeCallbackSink(Handler handler, std::size_t concurrency = 8);

}  // namespace outbox
