// BatchPublisher: sends messages over a connection and sees them through to the broker's answers.
//
// Messages go out one after the other, at most `window` without an answer. While the broker is
// blocked nothing is sent. What the end of the connection or of the time leaves open is in doubt
// when it was sent and untouched by the failure otherwise.
//
// A broker that refuses one message, for its size or its routing key, closes the channel over it.
// It may have taken those sent before; it has dropped all behind. Both are left over, to be sent
// again over another connection.
//
// Threads: used by one.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "outbox/deadline.h"
#include "outbox/message.h"
#include "outbox/status.h"
#include "sink/amqp/confirm_window.h"
#include "sink/amqp/connection.h"
#include "sink/amqp/options.h"

namespace outbox::sink {

// One Publish call, over as many connections as it takes.
struct PublishCall {
  std::span<const Message> batch;
  std::span<Status> results;
  std::map<std::string, Status> refused{};  // routing keys: not sent again in this call
  bool any_taken = false;                   // of the batch, over any connection

  // The result of a message that this connection has not taken. An earlier one may have.
  void PutUntaken(std::size_t index, const Status& status) {
    if (results[index].disposition() != Disposition::kInDoubt) results[index] = status;
  }
};

// Indexes of the batch, in order. All have results, in case they are not sent again.
struct Leftover {
  std::vector<std::size_t> in_doubt;
  std::vector<std::size_t> untaken;
};

class BatchPublisher {
 public:
  // `which` are the messages to send, as indexes of the batch.
  BatchPublisher(const AmqpOptions& options, Connection& connection, PublishCall& call,
                 std::span<const std::size_t> which);

  // Fills in the results. A failure is of the connection, which is no longer usable; without one it
  // may serve the next batch, also after the time ran out while the broker was blocked.
  Status Run(Deadline deadline);
  // After a failure that was one message's fault.
  Leftover TakeLeftover() { return std::move(leftover_); }

 private:
  Status SendAll(Deadline deadline);
  // How many messages may be without an answer: one over a fresh connection, until the broker has
  // answered it. A user without the right to write is found out by that one, and no other is in
  // doubt.
  std::size_t Room() const;
  Status SendOne(std::size_t index);
  // Takes what the broker has already said, without waiting.
  Status TakeWaiting();
  // Waits for the broker to say something.
  Status Await(Deadline deadline);
  void Take(const BrokerEvent& event);
  // Gives results to all that have none: open ones in doubt, unsent ones by the destination's
  // state.
  void GiveUp(const Status& cause);
  // The messages that were sent and have no answer, in the order of sending.
  std::vector<std::size_t> AbandonOpen();
  // Which of them the broker means; their number when it means none. Those behind it were not
  // taken: a guess is put last.
  std::size_t FindBlamed(std::vector<std::size_t>& open, const Status& cause);
  // Those sent before the one that was refused: the broker does not say what it took.
  void LeaveInDoubt(std::span<const std::size_t> before, const Status& cause);
  void Blame(std::span<const std::size_t> open, std::size_t blamed, const Status& cause);
  void BlameNone(std::span<const std::size_t> open, const Status& cause);

  Status OutOfTime() const;
  Status ResultFor(std::size_t index, Answer answer) const;

  const AmqpOptions& options_;
  Connection& connection_;
  PublishCall& call_;
  const std::span<const std::size_t> which_;
  ConfirmWindow window_;
  OutgoingMessage outgoing_;
  std::size_t next_ = 0;  // of which_: the first that was not looked at
  bool any_taken_;        // over this connection
  Leftover leftover_;
  std::size_t sent_since_look_ = 0;
  std::size_t bytes_since_look_ = 0;
};

}  // namespace outbox::sink
