#include "sink/amqp/batch_publisher.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "sink/sent_observer.h"

namespace outbox::sink {
namespace {

using base::StrCat;

// How much is sent before looking for answers: a broker whose answers nobody takes stops reading.
constexpr std::size_t kMessagesBetweenLooks = 32;
constexpr std::size_t kBytesBetweenLooks = 65536;
constexpr std::size_t kRefusedKeysMax = 8;  // of one call, with nothing taken beside them

Status InDoubt(const Status& cause) {
  return Status::InDoubt(cause.code(), StrCat("sent and not confirmed: ", cause.message()))
      .WithNative(cause.native());
}

Status Down(Code code, const Status& cause) {
  return Status(code, Disposition::kSinkDown, cause.message())
      .WithHint(cause.hint())
      .WithNative(cause.native());
}

bool IsOneMessagesFault(const Status& cause) {
  return cause.disposition() == Disposition::kPermanent ||
         cause.disposition() == Disposition::kRetry;
}

}  // namespace

BatchPublisher::BatchPublisher(const AmqpOptions& options, Connection& connection,
                               PublishCall& call, std::span<const std::size_t> which)
    : options_(options),
      connection_(connection),
      call_(call),
      which_(which),
      window_(connection.next_tag()),
      outgoing_(options, connection.frame_bytes_max()),
      any_taken_(connection.next_tag() > 1) {}

Status BatchPublisher::Run(Deadline deadline) {
  Status status = SendAll(deadline);
  if (status.ok() && next_ == which_.size() && window_.open() > 0) SentObserver::Tell();
  while (status.ok() && window_.open() > 0 && !deadline.passed()) status = Await(deadline);
  if (!status.ok()) {
    GiveUp(status);
    return status;
  }
  if (window_.open() == 0 && next_ == which_.size()) return status;
  GiveUp(OutOfTime());
  return connection_.blocked() ? Status::Ok() : OutOfTime();
}

Status BatchPublisher::SendAll(Deadline deadline) {
  while (next_ < which_.size()) {
    OUTBOX_RETURN_IF_ERROR(TakeWaiting());
    while (connection_.blocked() || window_.open() >= Room()) {
      if (deadline.passed()) return Status::Ok();
      OUTBOX_RETURN_IF_ERROR(Await(deadline));
    }
    if (deadline.passed()) return Status::Ok();
    OUTBOX_RETURN_IF_ERROR(SendOne(which_[next_++]));
  }
  return Status::Ok();
}

std::size_t BatchPublisher::Room() const { return any_taken_ ? options_.window : 1; }

Status BatchPublisher::SendOne(std::size_t index) {
  if (Status status = outgoing_.Fill(call_.batch[index]); !status.ok()) {
    call_.results[index] = std::move(status);
    return Status::Ok();
  }
  const auto refused = call_.refused.find(outgoing_.routing_key());
  if (refused != call_.refused.end()) {
    call_.results[index] = refused->second;
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
      any_taken_ = call_.any_taken = true;
      window_.Answered(event.tag, event.multiple, event.kind == BrokerEvent::Kind::kAck,
                       [&](std::size_t index, Answer answer) {
                         call_.results[index] = ResultFor(index, answer);
                       });
  }
}

void BatchPublisher::GiveUp(const Status& cause) {
  std::vector<std::size_t> open = AbandonOpen();
  const bool forbidden = cause.disposition() == Disposition::kRetry;
  // What no message can have is the sink's state.
  if (options_.same_routing_key && forbidden) {
    BlameNone(open, Down(cause.code(), cause));
    return;
  }
  const std::size_t blamed = IsOneMessagesFault(cause) ? FindBlamed(open, cause) : open.size();
  // So is, as far as anybody can tell, what one after the other had not: each costs a connection.
  const bool enough = forbidden && !call_.any_taken && call_.refused.size() >= kRefusedKeysMax;
  if (blamed < open.size() && enough) {
    LeaveInDoubt(std::span(open).first(blamed), cause);
    BlameNone(std::span(open).subspan(blamed), Down(cause.code(), cause));
  } else if (blamed < open.size()) {
    Blame(open, blamed, cause);
  } else {
    BlameNone(open, cause);
  }
}

std::vector<std::size_t> BatchPublisher::AbandonOpen() {
  std::vector<std::size_t> open;
  window_.Abandon([&](std::size_t index, Answer answer) {
    if (answer == Answer::kUnroutable) {
      call_.results[index] = ResultFor(index, answer);
    } else {
      open.push_back(index);
    }
  });
  return open;
}

std::size_t BatchPublisher::FindBlamed(std::vector<std::size_t>& open, const Status& cause) {
  std::size_t largest = 0;
  std::size_t largest_bytes = 0;
  for (std::size_t at = 0; at < open.size(); ++at) {
    if (!outgoing_.Fill(call_.batch[open[at]]).ok()) continue;
    const std::size_t bytes = outgoing_.body().len;
    if (IsAbout(connection_.closed_by(), outgoing_.routing_key(), bytes)) return at;
    if (bytes < largest_bytes) continue;
    largest = at;
    largest_bytes = bytes;
  }
  if (cause.disposition() != Disposition::kPermanent || open.empty()) return open.size();
  // A broker that does not name the size can not take the largest. All others may have been sent
  // before the one that it means.
  std::rotate(open.begin() + static_cast<std::ptrdiff_t>(largest),
              open.begin() + static_cast<std::ptrdiff_t>(largest) + 1, open.end());
  return open.size() - 1;
}

void BatchPublisher::LeaveInDoubt(std::span<const std::size_t> before, const Status& cause) {
  for (const std::size_t index : before) {
    call_.results[index] = InDoubt(cause);
    leftover_.in_doubt.push_back(index);
  }
}

void BatchPublisher::Blame(std::span<const std::size_t> open, std::size_t blamed,
                           const Status& cause) {
  call_.results[open[blamed]] = cause;
  if (cause.disposition() == Disposition::kRetry) {
    call_.refused.emplace(options_.routing_key.Render(call_.batch[open[blamed]]), cause);
  }
  LeaveInDoubt(open.first(blamed), cause);
  const Status untaken =
      Status::SinkDown(StrCat("not sent, for another message: ", cause.message()));
  for (const auto behind : {open.subspan(blamed + 1), which_.subspan(next_)}) {
    for (const std::size_t index : behind) {
      call_.PutUntaken(index, untaken);
      leftover_.untaken.push_back(index);
    }
  }
}

void BatchPublisher::BlameNone(std::span<const std::size_t> open, const Status& cause) {
  const Status down = Down(IsOneMessagesFault(cause) ? Code::kUnavailable : cause.code(), cause);
  // It was the only one sent over this connection; see Room.
  const bool none_taken = down.code() == Code::kPermission && !any_taken_;
  for (const std::size_t index : open) {
    if (none_taken) {
      call_.PutUntaken(index, down);
    } else {
      call_.results[index] = InDoubt(cause);
    }
  }
  for (const std::size_t index : which_.subspan(next_)) call_.PutUntaken(index, down);
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
                                                   options_.routing_key.Render(call_.batch[index]),
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
