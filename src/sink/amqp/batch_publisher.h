// BatchPublisher: sends one batch over a connection and sees it through to the broker's answers.
//
// Messages go out one after the other, at most `window` without an answer. While the broker is
// blocked nothing is sent. What the end of the connection or of the time leaves open is in doubt
// when it was sent and untouched by the failure otherwise.
//
// Threads: used by one.
#pragma once

#include <cstddef>
#include <span>

#include "outbox/deadline.h"
#include "outbox/message.h"
#include "outbox/status.h"
#include "sink/amqp/confirm_window.h"
#include "sink/amqp/connection.h"
#include "sink/amqp/options.h"

namespace outbox::sink {

class BatchPublisher {
 public:
  BatchPublisher(const AmqpOptions& options, Connection& connection, std::span<const Message> batch,
                 std::span<Status> results);

  // Fills in the results. A failure is of the connection, which is no longer usable; without one it
  // may serve the next batch, also after the time ran out while the broker was blocked.
  Status Run(Deadline deadline);

 private:
  Status SendAll(Deadline deadline);
  Status SendOne(std::size_t index);
  // Takes what the broker has already said, without waiting.
  Status TakeWaiting();
  // Waits for the broker to say something.
  Status Await(Deadline deadline);
  void Take(const BrokerEvent& event);
  // Gives results to all that have none: open ones in doubt, unsent ones by the destination's
  // state.
  void GiveUp(const Status& cause);

  Status OutOfTime() const;
  Status ResultFor(std::size_t index, Answer answer) const;

  const AmqpOptions& options_;
  Connection& connection_;
  const std::span<const Message> batch_;
  const std::span<Status> results_;
  ConfirmWindow window_;
  OutgoingMessage outgoing_;
  std::size_t next_ = 0;  // the first that was not looked at
  std::size_t sent_since_look_ = 0;
  std::size_t bytes_since_look_ = 0;
};

}  // namespace outbox::sink
