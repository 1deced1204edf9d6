#include "sink/nats/nats_sink.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/turn.h"
#include "sink/metadata.h"
#include "sink/nats/classify_error.h"
#include "sink/nats/connection.h"
#include "sink/nats/connector.h"
#include "sink/nats/denial.h"
#include "sink/nats/greeting.h"
#include "sink/nats/message_bin.h"
#include "sink/nats/options.h"
#include "sink/nats/stream_lookup.h"
#include "sink/nats/stream_outage.h"
#include "sink/nats/subject.h"
#include "sink/sent_observer.h"

namespace outbox::sink {
namespace {

using base::StrCat;

constexpr const char* kMessageIdHeader = "Nats-Msg-Id";
constexpr const char* kExpectedStreamHeader = "Nats-Expected-Stream";
constexpr const char* kContentTypeHeader = "content-type";

constexpr std::chrono::milliseconds kTimeToAsk{2000};

// Of the headers as they are sent: "NATS/1.0", a line for each, ": " between name and value, an
// empty line; each line with its end.
constexpr std::size_t kHeaderFrameBytes = 12;
constexpr std::size_t kHeaderLineBytes = 4;

std::size_t HeaderBytes(natsMsg* message) {
  const char** names = nullptr;
  int count = 0;
  if (natsMsgHeader_Keys(message, &names, &count) != NATS_OK) return 0;
  std::size_t bytes = kHeaderFrameBytes;
  for (int i = 0; i < count; ++i) {
    const char* value = "";
    (void)natsMsgHeader_Get(message, names[i], &value);
    bytes += kHeaderLineBytes + std::strlen(names[i]) + std::strlen(value);
  }
  std::free(static_cast<void*>(names));
  return bytes;
}

Status TooLarge(std::size_t bytes, const NatsConnection& connection) {
  return MessageTooLarge(bytes, connection.payload_max(), connection.peer());
}

// After such a failure nobody knows how much of the message the server has.
bool MayHaveLeft(natsStatus status) { return status == NATS_IO_ERROR || status == NATS_TIMEOUT; }

class NatsSink final : public Sink {
 public:
  explicit NatsSink(std::shared_ptr<const NatsOptions> options)
      : options_(*options), connector_(std::move(options)) {}

  std::string_view name() const noexcept override { return "nats"; }
  // One call sends while another waits for its last answers.
  SinkTraits traits() const noexcept override { return {.batch_max = 1000, .concurrency = 2}; }

  Status Open(Deadline deadline) override {
    const std::unique_lock turn(turn_, deadline.at());
    if (!turn) return TooLate();
    connection_.reset();
    return Ready(deadline);
  }

  void Publish(std::span<const Message> batch, std::span<Status> results,
               Deadline deadline) override {
    Call call;
    {
      const std::unique_lock turn(turn_, deadline.at());
      const Status ready = turn ? Ready(deadline) : TooLate();
      if (!ready.ok()) {
        std::fill(results.begin(), results.end(), ready);
        return;
      }
      call.number = ++calls_;
      call.connection = connection_;
      call.answers = connection_->acks().Begin(batch.size());
      Send(call, batch, results, deadline);
    }
    if (!call.sent.empty()) SentObserver::Tell();
    // Who was told that nobody listens is asked about; that takes a little of the time.
    const bool all = AwaitAll(call, WithTimeToAsk(deadline));
    if (!all && !call.answers->AnyUnheard()) (void)AwaitAll(call, deadline);
    if (!Settle(call, results, deadline)) call.connection->Retire();
    LetOthersPass(call, results);
  }

  void Close(Deadline deadline) noexcept override {
    const std::unique_lock turn(turn_, deadline.at());
    if (turn) connection_.reset();
  }

 private:
  struct Sent {
    std::size_t index;  // in the batch
    std::string subject;
  };
  // A Publish call under way.
  struct Call {
    std::uint64_t number = 0;  // as they are sent
    std::shared_ptr<NatsConnection> connection;
    std::unique_ptr<AckBox::Batch> answers;  // before the connection it came from
    std::vector<Sent> sent;                  // in order
  };

  Status Ready(Deadline deadline) {
    if (connection_ != nullptr && !connection_->retired() && !connection_->Gone()) {
      return Status::Ok();
    }
    connection_.reset();
    OUTBOX_ASSIGN_OR_RETURN(connection_, connector_.Connect(deadline));
    return Status::Ok();
  }

  static Deadline WithTimeToAsk(Deadline deadline) {
    return Deadline(deadline.at() - std::min(kTimeToAsk, deadline.remaining() / 4));
  }

  static Status TooLate() {
    return Status(Code::kDeadline, Disposition::kSinkDown, "not sent: no time was left for it");
  }
  static Status Unsent(NatsConnection& connection) {
    const bool gone = connection.acks().broken();
    return Status(gone ? Code::kUnavailable : Code::kDeadline, Disposition::kSinkDown,
                  StrCat("not sent: ", connection.peer(),
                         gone ? " has closed the connection" : " is too slow"));
  }

  // Publishes what can be published, and gives the others their results.
  void Send(Call& call, std::span<const Message> batch, std::span<Status> results,
            Deadline deadline) const {
    NatsConnection& connection = *call.connection;
    call.sent.reserve(batch.size());
    std::size_t room = 0;
    MessageBin bin;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (room == 0) room = AwaitRoom(call, batch.size() - i, deadline);
      if (room == 0 || deadline.passed()) {
        call.answers->GiveBack(room);
        std::fill(results.begin() + static_cast<std::ptrdiff_t>(i), results.end(),
                  Unsent(connection));
        return;
      }
      --room;
      std::string subject = options_.subject.Render(batch[i]);
      auto message = MakeMessage(call, batch[i], subject, i);
      if (!message.ok()) {
        results[i] = message.error();
        call.answers->GiveBack(1);
        continue;
      }
      call.sent.push_back({i, std::move(subject)});
      const natsStatus status = connection.Publish(message->get());
      bin.Add(std::move(*message));
      if (status == NATS_OK) continue;
      call.sent.pop_back();
      call.answers->Put(i, {});
      const Status failed = ClassifyNatsError(status, "", connection.peer());
      results[i] = failed;
      if (failed.disposition() != Disposition::kSinkDown) continue;
      std::fill(results.begin() + static_cast<std::ptrdiff_t>(i), results.end(), failed);
      if (MayHaveLeft(status)) results[i] = Status::InDoubt(failed.code(), failed.message());
      call.answers->GiveBack(room);
      connection.acks().Break();
      return;
    }
  }

  Result<NatsMessage> MakeMessage(const Call& call, const Message& message,
                                  const std::string& subject, std::size_t index) const {
    OUTBOX_RETURN_IF_ERROR(CheckSubject(subject));
    const std::string body = message::MakeBody(message, options_.body);
    if (body.size() > std::numeric_limits<int>::max()) {
      return TooLarge(body.size(), *call.connection);
    }
    natsMsg* raw = nullptr;
    natsStatus status = natsMsg_Create(&raw, subject.c_str(),
                                       call.connection->ReplySubject(*call.answers, index).c_str(),
                                       body.data(), static_cast<int>(body.size()));
    NatsMessage made(raw);
    // At most, as far as a name may come twice.
    std::size_t most = body.size() + kHeaderFrameBytes;
    const auto set = [&](const char* name, const char* value) {
      most += kHeaderLineBytes + std::strlen(name) + std::strlen(value);
      if (status == NATS_OK) status = natsMsgHeader_Set(raw, name, value);
    };
    set(kMessageIdHeader, StrCat(message.id.ToString(), options_.id_suffix).c_str());
    if (!options_.stream.empty()) set(kExpectedStreamHeader, options_.stream.c_str());
    if (options_.body != message::BodyFormat::kPlain) {
      set(kContentTypeHeader, std::string(message::ContentType(options_.body)).c_str());
    }
    Status headers;
    VisitDeliveryHeaders(message, [&](std::string_view name, std::string_view value) {
      if (!headers.ok() || IsServerHeader(name)) return;
      headers = CheckHeader(name, value);
      if (headers.ok()) set(name.data(), value.data());
    });
    OUTBOX_RETURN_IF_ERROR(headers);
    if (status != NATS_OK) return ClassifyNatsError(status, "", call.connection->peer());
    if (most > call.connection->payload_max()) {
      const std::size_t exactly = body.size() + HeaderBytes(raw);
      if (exactly > call.connection->payload_max()) return TooLarge(exactly, *call.connection);
    }
    return made;
  }

  // Waits until `wait` is content, or ended by more than a denial: that is an answer to the
  // messages whose subject it quotes.
  template <typename Wait>
  static std::invoke_result_t<Wait> Await(const Call& call, Wait wait) {
    while (true) {
      const auto got = wait();
      if (got) return got;
      const std::vector<std::string> denials = call.answers->TakeDenials();
      for (const std::string& text : denials) {
        const Denial denial(text);
        for (const Sent& sent : call.sent) {
          if (denial.Covers(sent.subject)) call.answers->Put(sent.index, {.denied = true});
        }
      }
      if (denials.empty()) return got;
    }
  }

  // How many of `wanted` messages may be sent; none when no answers come.
  std::size_t AwaitRoom(const Call& call, std::size_t wanted, Deadline deadline) const {
    return Await(call, [&] { return call.answers->TakeRoom(wanted, options_.window, deadline); });
  }
  static bool AwaitAll(const Call& call, Deadline deadline) {
    return Await(call, [&] { return call.answers->WaitForAll(deadline); });
  }

  // False when an answer is missing.
  static bool Settle(const Call& call, std::span<Status> results, Deadline deadline) {
    const std::string& peer = call.connection->peer();
    const bool gone = call.connection->acks().broken();
    const Status doubt =
        gone ? Status::InDoubt(Code::kUnavailable, StrCat("sent, but not confirmed: ", peer,
                                                          " has closed the connection"))
             : Status::InDoubt(Code::kDeadline,
                               StrCat("sent, but not confirmed: ", peer, " has not answered"));
    bool complete = !gone;
    const auto acks = call.answers->TakeAll();
    std::vector<const Sent*> unheard;
    for (const Sent& sent : call.sent) {
      Status& result = results[sent.index];
      const auto& ack = acks[sent.index];
      if (!ack) {
        result = doubt;
        complete = false;
      } else if (ack->denied) {
        result = PublishDenied(sent.subject, peer);
      } else if (ack->no_responders) {
        unheard.push_back(&sent);
      } else {
        result = ack->stored ? Status::Ok() : ClassifyPubAck(ack->body, peer);
      }
    }
    if (!unheard.empty()) SettleUnheard(call, unheard, results, deadline);
    return complete;
  }

  // What has reached no stream.
  static void SettleUnheard(const Call& call, const std::vector<const Sent*>& unheard,
                            std::span<Status> results, Deadline deadline) {
    std::vector<std::string_view> subjects;
    subjects.reserve(unheard.size());
    for (const Sent* sent : unheard) subjects.emplace_back(sent->subject);
    std::sort(subjects.begin(), subjects.end());
    subjects.erase(std::unique(subjects.begin(), subjects.end()), subjects.end());
    const auto found = LookUpStreams(*call.connection, subjects, deadline);
    for (const Sent* sent : unheard) {
      const auto at = std::lower_bound(subjects.begin(), subjects.end(), sent->subject);
      results[sent->index] = NoStream(found[static_cast<std::size_t>(at - subjects.begin())],
                                      sent->subject, call.connection->peer());
    }
  }

  // A stream that is away is none of the others' business.
  void LetOthersPass(const Call& call, std::span<Status> results) {
    StreamOutage::Answers answers{.call = call.number, .first_away = {}, .last_stored = {}};
    for (const Sent& sent : call.sent) {
      const Status& result = results[sent.index];
      if (result.ok()) answers.last_stored = sent.index;
      if (!answers.first_away && IsStreamAway(result)) answers.first_away = sent.index;
    }
    const auto wait = outage_.Note(answers, std::chrono::steady_clock::now());
    if (!wait) return;
    for (const Sent& sent : call.sent) {
      Status& result = results[sent.index];
      if (!IsStreamAway(result)) continue;
      result = Status::Postponed(result.message(), *wait)
                   .WithNative(result.native())
                   .WithHint(result.hint());
    }
  }

  const NatsOptions& options_;  // the connector's
  StreamOutage outage_;

  // Held while a batch is sent, so that batches follow one another. Guards all below.
  base::Turn turn_;
  NatsConnector connector_;
  std::shared_ptr<NatsConnection> connection_;
  std::uint64_t calls_ = 0;
};

}  // namespace

Result<std::shared_ptr<Sink>> MakeNatsSink(const SinkUri& uri) {
  OUTBOX_ASSIGN_OR_RETURN(NatsOptions options, NatsOptions::Read(uri));
  return std::shared_ptr<Sink>(
      std::make_shared<NatsSink>(std::make_shared<const NatsOptions>(std::move(options))));
}

Result<Way> NatsWay(const SinkUri& uri) {
  OUTBOX_ASSIGN_OR_RETURN(NatsOptions options, NatsOptions::Read(uri));
  return Way{.endpoints = std::move(options.endpoints),
             .tls = std::move(options.tls),
             .greet = AwaitTlsOffer};
}

}  // namespace outbox::sink
