#include "sink/nats/nats_sink.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "sink/metadata.h"
#include "sink/nats/classify_error.h"
#include "sink/nats/connection.h"
#include "sink/nats/options.h"
#include "sink/nats/subject.h"

namespace outbox::sink {
namespace {

using base::StrCat;

constexpr const char* kMessageIdHeader = "Nats-Msg-Id";
constexpr const char* kExpectedStreamHeader = "Nats-Expected-Stream";
constexpr const char* kContentTypeHeader = "content-type";

// After such a failure nobody knows how much of the message the server has.
bool MayHaveLeft(natsStatus status) { return status == NATS_IO_ERROR || status == NATS_TIMEOUT; }

class NatsSink final : public Sink {
 public:
  explicit NatsSink(NatsOptions options) : options_(std::move(options)) {}

  std::string_view name() const noexcept override { return "nats"; }
  SinkTraits traits() const noexcept override { return {.batch_max = 1000, .concurrency = 1}; }

  Status Open(Deadline deadline) override {
    const std::lock_guard lock(mutex_);
    connection_.reset();
    return Ready(deadline);
  }

  void Publish(std::span<const Message> batch, std::span<Status> results,
               Deadline deadline) override {
    const std::lock_guard lock(mutex_);
    if (const Status ready = Ready(deadline); !ready.ok()) {
      std::fill(results.begin(), results.end(), ready);
      return;
    }
    connection_->acks().Begin(batch.size());
    sent_.clear();
    Send(batch, results, deadline);
    (void)AwaitAnswers(0, deadline);
    if (!Settle(results)) connection_.reset();
  }

  void Close(Deadline) noexcept override {
    const std::lock_guard lock(mutex_);
    connection_.reset();
  }

 private:
  struct Sent {
    std::size_t index;  // in the batch
    std::string subject;
  };

  Status Ready(Deadline deadline) {
    if (connection_ != nullptr && !connection_->Gone()) return Status::Ok();
    connection_.reset();
    OUTBOX_ASSIGN_OR_RETURN(connection_, NatsConnection::Open(options_, deadline));
    return Status::Ok();
  }

  // Publishes what can be published into sent_, and gives the others their results.
  void Send(std::span<const Message> batch, std::span<Status> results, Deadline deadline) {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (!AwaitAnswers(options_.window - 1, deadline)) {
        const Status unsent = Status::SinkDown(
            StrCat("nats ", connection_->peer(), ": answers do not come in; not sent"));
        std::fill(results.begin() + static_cast<std::ptrdiff_t>(i), results.end(), unsent);
        return;
      }
      std::string subject = options_.subject.Render(batch[i]);
      const auto message = MakeMessage(batch[i], subject, i);
      if (!message.ok()) {
        results[i] = message.error();
        continue;
      }
      const natsStatus status = connection_->Publish(message->get());
      if (status == NATS_OK) {
        sent_.push_back({i, std::move(subject)});
        continue;
      }
      const Status failed = ClassifyNatsError(status, "", connection_->peer());
      results[i] = failed;
      if (failed.disposition() != Disposition::kSinkDown) continue;
      std::fill(results.begin() + static_cast<std::ptrdiff_t>(i), results.end(), failed);
      if (MayHaveLeft(status)) results[i] = Status::InDoubt(failed.code(), failed.message());
      connection_->acks().Break();
      return;
    }
  }

  Result<NatsMessage> MakeMessage(const Message& message, const std::string& subject,
                                  std::size_t index) const {
    OUTBOX_RETURN_IF_ERROR(CheckSubject(subject));
    const std::string body = message::MakeBody(message, options_.body);
    if (body.size() > std::numeric_limits<int>::max()) {
      return ClassifyNatsError(NATS_MAX_PAYLOAD, "", connection_->peer());
    }
    natsMsg* raw = nullptr;
    natsStatus status =
        natsMsg_Create(&raw, subject.c_str(), connection_->ReplySubject(index).c_str(), body.data(),
                       static_cast<int>(body.size()));
    NatsMessage made(raw);
    const auto set = [&](const char* name, const std::string& value) {
      if (status == NATS_OK) status = natsMsgHeader_Set(raw, name, value.c_str());
    };
    set(kMessageIdHeader, message.id.ToString());
    if (!options_.stream.empty()) set(kExpectedStreamHeader, options_.stream);
    if (options_.body != message::BodyFormat::kPlain) {
      set(kContentTypeHeader, std::string(message::ContentType(options_.body)));
    }
    for (const auto& [name, value] : DeliveryHeaders(message)) {
      if (IsServerHeader(name)) continue;
      OUTBOX_RETURN_IF_ERROR(CheckHeader(name, value));
      set(name.c_str(), value);
    }
    if (status != NATS_OK) return ClassifyNatsError(status, "", connection_->peer());
    return made;
  }

  // True when at most `open_max` messages are without an answer.
  bool AwaitAnswers(std::size_t open_max, Deadline deadline) {
    AckBox& acks = connection_->acks();
    while (true) {
      if (acks.WaitForAnswers(sent_.size(), open_max, deadline)) return true;
      const std::vector<std::string> denials = acks.TakeDenials();
      for (const std::string& denial : denials) {
        for (const Sent& sent : sent_) {
          if (denial.find(StrCat('"', sent.subject, '"')) != std::string::npos) {
            acks.PutAt(sent.index, {.denied = true});
          }
        }
      }
      if (denials.empty()) return false;
    }
  }

  // False when an answer is missing.
  bool Settle(std::span<Status> results) {
    const std::string& peer = connection_->peer();
    const Status doubt =
        connection_->Gone()
            ? Status::InDoubt(Code::kUnavailable, StrCat("sent, but not confirmed: ", peer,
                                                         " has closed the connection"))
            : Status::InDoubt(Code::kDeadline,
                              StrCat("sent, but not confirmed: ", peer, " has not answered"));
    bool complete = !connection_->Gone();
    for (const Sent& sent : sent_) {
      Status& result = results[sent.index];
      const auto ack = connection_->acks().Take(sent.index);
      if (!ack) {
        result = doubt;
        complete = false;
      } else if (ack->denied) {
        result = PublishDenied(sent.subject, peer);
      } else if (ack->no_responders) {
        result = NoStream(sent.subject, peer);
      } else {
        result = ClassifyPubAck(ack->body, peer);
      }
    }
    return complete;
  }

  const NatsOptions options_;

  std::mutex mutex_;  // guards all below
  std::unique_ptr<NatsConnection> connection_;
  std::vector<Sent> sent_;  // of this batch, in order
};

}  // namespace

Result<std::shared_ptr<Sink>> MakeNatsSink(const SinkUri& uri) {
  OUTBOX_ASSIGN_OR_RETURN(NatsOptions options, NatsOptions::Read(uri));
  return std::shared_ptr<Sink>(std::make_shared<NatsSink>(std::move(options)));
}

}  // namespace outbox::sink
