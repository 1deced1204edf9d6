#include "sink/kafka/kafka_sink.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/turn.h"
#include "sink/kafka/options.h"
#include "sink/kafka/producer.h"
#include "sink/kafka/producer_burial.h"
#include "sink/metadata.h"
#include "sink/sent_observer.h"

namespace outbox::sink {
namespace {

constexpr std::size_t kBatchMax = 1000;
constexpr std::size_t kHeadersGuess = 16;
// With less time left a message is not begun with.
constexpr std::chrono::milliseconds kWorthATry{200};
constexpr std::chrono::seconds kEndTimeout{5};

KafkaHeaders MakeHeaders(const Message& message) {
  KafkaHeaders headers(rd_kafka_headers_new(kHeadersGuess));
  VisitDeliveryHeaders(message, [&](std::string_view name, std::string_view value) {
    rd_kafka_header_add(headers.get(), name.data(), static_cast<ssize_t>(name.size()), value.data(),
                        static_cast<ssize_t>(value.size()));
  });
  return headers;
}

class KafkaSink final : public Sink {
 public:
  explicit KafkaSink(KafkaOptions options)
      : options_(std::make_shared<const KafkaOptions>(std::move(options))) {}

  ~KafkaSink() override {
    shared_.producer.reset();
    apart_.producer.reset();
    // librdkafka's threads end before the program does, unless one of them hangs.
    burial_->Await(Deadline::After(kEndTimeout));
  }

  std::string_view name() const noexcept override { return "kafka"; }
  // One call hands its batch over while another waits for its last reports.
  SinkTraits traits() const noexcept override { return {.batch_max = kBatchMax, .concurrency = 3}; }

  Status Open(Deadline deadline) override {
    std::shared_ptr<Producer> producer;
    {
      const std::unique_lock turn(shared_.turn, deadline.at());
      if (!turn) return TooLate();
      OUTBOX_ASSIGN_OR_RETURN(producer, Ready(shared_, deadline));
    }
    return producer->Reach(deadline);
  }

  void Publish(std::span<const Message> batch, std::span<Status> results,
               Deadline deadline) override {
    std::vector<std::size_t> to_send(batch.size());
    std::iota(to_send.begin(), to_send.end(), std::size_t{0});
    const PublishCall call{batch, results, deadline};
    std::vector<std::size_t> refused;
    while (!to_send.empty()) {
      Producer::Leftover left = PublishTogether(call, to_send);
      refused.insert(refused.end(), left.refused_together.begin(), left.refused_together.end());
      to_send.clear();
      if (deadline.remaining() > kWorthATry) to_send = std::move(left.taken_along);
    }
    if (!refused.empty()) PublishApart(call, std::move(refused));
  }

  void Close(Deadline deadline) noexcept override {
    for (Slot* const slot : {&shared_, &apart_}) {
      const std::unique_lock turn(slot->turn, deadline.at());
      if (turn) slot->producer.reset();
    }
    burial_->Await(deadline);
  }

 private:
  struct PublishCall {
    std::span<const Message> batch;
    std::span<Status> results;
    Deadline deadline;
  };
  struct Slot {
    const Producer::Use use;
    base::Turn turn{};                     // guards the producer; batches follow one another
    std::shared_ptr<Producer> producer{};  // that the next call uses
  };

  // Returns what may be produced again.
  Producer::Leftover PublishTogether(const PublishCall& call, std::span<const std::size_t> which) {
    std::shared_ptr<Producer> producer;
    std::unique_ptr<Producer::Call> handed_over;
    {
      const std::unique_lock turn(shared_.turn, call.deadline.at());
      auto reached =
          turn ? Reached(shared_, call.deadline) : Result<std::shared_ptr<Producer>>(TooLate());
      if (!reached.ok()) {
        for (const std::size_t i : which) call.results[i] = reached.error();
        return {};
      }
      producer = *std::move(reached);
      handed_over = producer->Begin(call.results);
      Send(*producer, *handed_over, call, which);
    }
    SentObserver::Tell();
    return producer->Finish(*handed_over, call.deadline);
  }

  // Finds those that the broker refuses, by halves, with a producer that nobody else uses
  // meanwhile. What the time does not suffice for was not attempted.
  void PublishApart(const PublishCall& call, std::vector<std::size_t> refused) {
    NotAttempted(call, refused);
    const std::unique_lock turn(apart_.turn, call.deadline.at());
    if (!turn) return;
    std::deque<std::vector<std::size_t>> parts;
    PutHalves(std::move(refused), parts);
    while (!parts.empty() && call.deadline.remaining() > kWorthATry) {
      const std::vector<std::size_t> part = std::move(parts.front());
      parts.pop_front();
      const auto reached = Reached(apart_, call.deadline);
      if (!reached.ok()) return;
      const auto handed_over = (*reached)->Begin(call.results, part.size() == 1);
      Send(**reached, *handed_over, call, part);
      Producer::Leftover left = (*reached)->Finish(*handed_over, call.deadline);
      NotAttempted(call, left.unsent);
      NotAttempted(call, left.refused_together);
      PutHalves(std::move(left.refused_together), parts);
    }
  }

  static void NotAttempted(const PublishCall& call, std::span<const std::size_t> which) {
    for (const std::size_t i : which) call.results[i] = Status::NotAttempted();
  }

  // In front, the first half first.
  static void PutHalves(std::vector<std::size_t> whole,
                        std::deque<std::vector<std::size_t>>& parts) {
    const auto middle = whole.begin() + static_cast<std::ptrdiff_t>(whole.size() / 2);
    if (middle != whole.end()) parts.emplace_front(middle, whole.end());
    if (middle != whole.begin()) parts.emplace_front(whole.begin(), middle);
  }

  void Send(Producer& producer, Producer::Call& handed_over, const PublishCall& call,
            std::span<const std::size_t> which) const {
    for (const std::size_t i : which) {
      const Message& message = call.batch[i];
      const bool plain = options_->body == message::BodyFormat::kPlain;
      const std::string body = plain ? "" : message::MakeBody(message, options_->body);
      const auto created = message.created_at.time_since_epoch();
      KafkaRecord record{
          .topic = options_->topic.Render(message),
          .key = message.key,
          .body = plain ? message.payload : body,
          .headers = MakeHeaders(message),
          .timestamp_ms = std::chrono::floor<std::chrono::milliseconds>(created).count()};
      if (IsKafkaTopic(record.topic)) {
        producer.Add(handed_over, i, std::move(record), call.deadline);
      } else {
        call.results[i] = Status::Invalid(base::StrCat("'", base::CleanError(record.topic, 80),
                                                       "' is not the name of a Kafka topic"))
                              .WithHint("look at the option topic");
      }
    }
  }

  static Status TooLate() {
    return Status(Code::kDeadline, Disposition::kSinkDown, "not sent: no time was left for it");
  }

  // REQUIRES: the slot's turn. A broken producer is left to the calls that still use it. One that
  // nobody uses has ended before its successor sends: what it still had on its way would come later
  // than messages that follow it.
  Result<std::shared_ptr<Producer>> Ready(Slot& slot, Deadline deadline) {
    if (slot.producer == nullptr || slot.producer->broken()) {
      slot.producer.reset();
      burial_->Await(Deadline::After(deadline.remaining() / 2));
      OUTBOX_ASSIGN_OR_RETURN(auto made, Producer::Make(options_, slot.use));
      slot.producer = burial_->Share(std::move(made));
    }
    return slot.producer;
  }
  Result<std::shared_ptr<Producer>> Reached(Slot& slot, Deadline deadline) {
    OUTBOX_ASSIGN_OR_RETURN(auto producer, Ready(slot, deadline));
    if (producer->needs_reaching()) OUTBOX_RETURN_IF_ERROR(producer->Reach(deadline));
    return producer;
  }

  const std::shared_ptr<const KafkaOptions> options_;
  const std::shared_ptr<ProducerBurial> burial_ = std::make_shared<ProducerBurial>();
  Slot shared_{Producer::Use::kShared};
  Slot apart_{Producer::Use::kAlone};  // made when a request is refused
};

}  // namespace

Result<std::shared_ptr<Sink>> MakeKafkaSink(const SinkUri& uri) {
  OUTBOX_ASSIGN_OR_RETURN(KafkaOptions options, ReadKafkaOptions(uri));
  return std::shared_ptr<Sink>(std::make_shared<KafkaSink>(std::move(options)));
}

Result<Way> KafkaWay(const SinkUri& uri) {
  OUTBOX_ASSIGN_OR_RETURN(KafkaOptions options, ReadKafkaOptions(uri));
  Way way{.endpoints = std::move(options.endpoints),
          .tls = std::move(options.tls),
          .instead = "add tls=true"};
  if (way.tls) way.tls->instead = "leave out tls=true";
  // Properties of librdkafka's own may name whom to trust. Who we are is needed by the handshake
  // itself, and only librdkafka can tell.
  for (const auto& [option, value] : uri.options) {
    if (!option.starts_with("kafka.ssl.") || option == "kafka.ssl.key.password") continue;
    if (way.tls) way.tls->verify = false;
    const bool identity = option.starts_with("kafka.ssl.key") ||
                          option.starts_with("kafka.ssl.certificate") ||
                          option.starts_with("kafka.ssl.engine");
    if (identity) return Way{.endpoints = std::move(way.endpoints)};
  }
  return way;
}

}  // namespace outbox::sink
