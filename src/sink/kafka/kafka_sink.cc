#include "sink/kafka/kafka_sink.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/turn.h"
#include "sink/kafka/options.h"
#include "sink/kafka/producer.h"
#include "sink/metadata.h"
#include "sink/sent_observer.h"

namespace outbox::sink {
namespace {

constexpr std::size_t kBatchMax = 1000;
constexpr std::size_t kHeadersGuess = 16;

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
  explicit KafkaSink(KafkaOptions options) : options_(std::move(options)) {}

  std::string_view name() const noexcept override { return "kafka"; }
  // One call hands its batch over while another waits for its last reports.
  SinkTraits traits() const noexcept override { return {.batch_max = kBatchMax, .concurrency = 3}; }

  Status Open(Deadline deadline) override {
    OUTBOX_ASSIGN_OR_RETURN(const std::shared_ptr<Producer> producer, Ready(large_));
    return producer->Reach(deadline);
  }

  void Publish(std::span<const Message> batch, std::span<Status> results,
               Deadline deadline) override {
    if (batch.empty()) return;
    std::vector<std::size_t> all(batch.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const PublishCall call{batch, results, deadline};
    const auto refused = PublishSome(call, all, large_);
    if (!refused.empty()) (void)PublishSome(call, refused, single_);
  }

  void Close(Deadline) noexcept override {
    const std::lock_guard lock(mutex_);
    large_.producer.reset();
    single_.producer.reset();
  }

 private:
  struct PublishCall {
    std::span<const Message> batch;
    std::span<Status> results;
    Deadline deadline;
  };
  struct Slot {
    const Producer::Requests requests;
    base::Turn sending{};                  // taken before mutex_
    std::shared_ptr<Producer> producer{};  // guarded by mutex_
  };

  // Returns those that were refused together with others.
  std::vector<std::size_t> PublishSome(const PublishCall& call, std::span<const std::size_t> which,
                                       Slot& slot) {
    std::shared_ptr<Producer> producer;
    std::unique_ptr<Producer::Call> handed_over;
    {
      // Batches follow one another.
      const std::unique_lock turn(slot.sending, call.deadline.at());
      Status reached = TooLate();
      if (turn) {
        auto ready = Ready(slot);
        reached = ready.error();
        if (ready.ok()) producer = *std::move(ready);
      }
      if (reached.ok() && producer->needs_reaching()) reached = producer->Reach(call.deadline);
      if (!reached.ok()) {
        // What was refused before keeps that: it must not come back without an attempt for ever.
        if (slot.requests == Producer::Requests::kSingle) return {};
        for (const std::size_t i : which) call.results[i] = reached;
        return {};
      }
      handed_over = producer->Begin(call.results);
      Send(*producer, *handed_over, call, which);
    }
    SentObserver::Tell();
    return producer->Finish(*handed_over, call.deadline);
  }

  void Send(Producer& producer, Producer::Call& handed_over, const PublishCall& call,
            std::span<const std::size_t> which) const {
    for (const std::size_t i : which) {
      const Message& message = call.batch[i];
      const bool plain = options_.body == message::BodyFormat::kPlain;
      const std::string body = plain ? "" : message::MakeBody(message, options_.body);
      const auto created = message.created_at.time_since_epoch();
      KafkaRecord record{
          .topic = options_.topic.Render(message),
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

  // A broken producer is left to the calls that still use it.
  Result<std::shared_ptr<Producer>> Ready(Slot& slot) {
    const std::lock_guard lock(mutex_);
    if (slot.producer == nullptr || slot.producer->broken()) {
      OUTBOX_ASSIGN_OR_RETURN(slot.producer, Producer::Make(options_, slot.requests));
    }
    return slot.producer;
  }

  const KafkaOptions options_;
  std::mutex mutex_;
  Slot large_{Producer::Requests::kLarge};
  Slot single_{Producer::Requests::kSingle};  // made when a request is refused
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
