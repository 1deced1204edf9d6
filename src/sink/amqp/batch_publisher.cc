#include "sink/amqp/batch_publisher.h"

#include <algorithm>

#include "base/text.h"

namespace outbox::sink {
namespace {

using base::StrCat;

// How much is sent before looking for answers: a broker whose answers nobody takes stops reading.
constexpr std::size_t kMessagesBetweenLooks = 32;
constexpr std::size_t kBytesBetweenLooks = 65536;

Status InDoubt(const Status& cause) {
  return Status::InDoubt(cause.code(), StrCat("sent and not confirmed: ", cause.message()))
      .WithNative(cause.native());
}

}  // namespace

BatchPublisher::BatchPublisher(const AmqpOptions& options, Connection& connection,
                               std::span<const Message> batch, std::span<Status> results)
    : options_(options),
      connection_(connection),
      batch_(batch),
      results_(results),
      window_(connection.next_tag()),
      outgoing_(options, connection.frame_bytes_max()) {}

Status BatchPublisher::Run(Deadline deadline) {
  Status status = SendAll(deadline);
  while (status.ok() && window_.open() > 0 && !deadline.passed()) status = Await(deadline);
  if (!status.ok()) {
    GiveUp(status);
    return status;
  }
  if (window_.open() == 0 && next_ == batch_.size()) return status;
  GiveUp(OutOfTime());
  return connection_.blocked() ? Status::Ok() : OutOfTime();
}

Status BatchPublisher::SendAll(Deadline deadline) {
  while (next_ < batch_.size()) {
    OUTBOX_RETURN_IF_ERROR(TakeWaiting());
    while (connection_.blocked() || window_.open() >= options_.window) {
      if (deadline.passed()) return Status::Ok();
      OUTBOX_RETURN_IF_ERROR(Await(deadline));
    }
    if (deadline.passed()) return Status::Ok();
    OUTBOX_RETURN_IF_ERROR(SendOne(next_++));
  }
  return Status::Ok();
}

Status BatchPublisher::SendOne(std::size_t index) {
  if (Status status = outgoing_.Fill(batch_[index]); !status.ok()) {
    results_[index] = std::move(status);
    return Status::Ok();
  }
  window_.Sent(index, outgoing_.message_id());
  ++sent_since_look_;
  bytes_since_look_ += outgoing_.body().len;
  return connection_.Send(outgoing_);
}

Status BatchPublisher::TakeWaiting() {
  if (sent_since_look_ < kMessagesBetweenLooks && bytes_since_look_ < kBytesBetweenLooks) {
    return Status::Ok();
  }
  sent_since_look_ = 0;
  bytes_since_look_ = 0;
  for (;;) {
    OUTBOX_ASSIGN_OR_RETURN(const BrokerEvent event,
                            connection_.Next(Deadline::After(Deadline::Clock::duration::zero())));
    if (event.kind == BrokerEvent::Kind::kNothing) return Status::Ok();
    Take(event);
  }
}

Status BatchPublisher::Await(Deadline deadline) {
  OUTBOX_ASSIGN_OR_RETURN(const BrokerEvent event, connection_.Next(deadline));
  Take(event);
  return Status::Ok();
}

void BatchPublisher::Take(const BrokerEvent& event) {
  switch (event.kind) {
    case BrokerEvent::Kind::kNothing: return;
    case BrokerEvent::Kind::kReturned: window_.Returned(event.message_id); return;
    case BrokerEvent::Kind::kAck:
    case BrokerEvent::Kind::kNack:
      window_.Answered(
          event.tag, event.multiple, event.kind == BrokerEvent::Kind::kAck,
          [&](std::size_t index, Answer answer) { results_[index] = ResultFor(index, answer); });
  }
}

void BatchPublisher::GiveUp(const Status& cause) {
  // When the broker closes the channel over a message's size it does not say which: the largest
  // without an answer is one that it can not take.
  const bool too_large = cause.disposition() == Disposition::kPermanent;
  std::size_t largest = batch_.size();
  window_.Abandon([&](std::size_t index, Answer answer) {
    if (answer == Answer::kUnroutable) {
      results_[index] = ResultFor(index, answer);
      return;
    }
    // A broker that refuses our credentials has taken nothing.
    results_[index] = cause.code() == Code::kPermission ? cause : InDoubt(cause);
    if (largest == batch_.size() || batch_[index].payload.size() > batch_[largest].payload.size()) {
      largest = index;
    }
  });
  if (too_large && largest < batch_.size()) results_[largest] = cause;
  const Status unsent(too_large ? Code::kUnavailable : cause.code(), Disposition::kSinkDown,
                      cause.message());
  std::fill(results_.begin() + static_cast<std::ptrdiff_t>(next_), results_.end(), unsent);
}

Status BatchPublisher::OutOfTime() const {
  if (connection_.blocked()) {
    return Status::SinkDown(StrCat("RabbitMQ at ", connection_.broker(), " takes no messages now: ",
                                   base::CleanError(connection_.blocked_reason(), 200)))
        .WithHint("the broker is short of memory or disk; delivery goes on by itself");
  }
  return Status(Code::kDeadline, Disposition::kSinkDown,
                StrCat("RabbitMQ at ", connection_.broker(), " did not answer in time"));
}

Status BatchPublisher::ResultFor(std::size_t index, Answer answer) const {
  switch (answer) {
    case Answer::kConfirmed: return Status::Ok();
    case Answer::kUnroutable:
      return Status::Retry(Code::kRejected, StrCat("no queue is bound for routing key '",
                                                   options_.routing_key.Render(batch_[index]),
                                                   "' of exchange '", options_.exchange, "'"))
          .WithHint("bind a queue, or allow the loss with mandatory=false")
          .WithNative("AMQP 312");
    case Answer::kRefused:
      return Status::Retry(Code::kRejected, StrCat("RabbitMQ at ", connection_.broker(),
                                                   " refused the message (basic.nack)"))
          .WithHint(
              "a queue is full and set to reject-publish, or the broker has an inner problem");
    case Answer::kNone: break;
  }
  return InDoubt(OutOfTime());
}

}  // namespace outbox::sink
