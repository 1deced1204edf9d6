#include "sink/kafka/kafka_sink.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>
#include <utility>

#include "base/text.h"
#include "sink/kafka/options.h"
#include "sink/kafka/producer.h"
#include "sink/metadata.h"

namespace outbox::sink {
namespace {

constexpr std::size_t kBatchMax = 1000;
constexpr std::size_t kTopicBytesMax = 249;
constexpr std::size_t kHeadersGuess = 16;

bool IsTopic(std::string_view name) {
  return !name.empty() && name.size() <= kTopicBytesMax &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-';
         });
}

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
    OUTBOX_ASSIGN_OR_RETURN(const std::shared_ptr<Producer> producer, Ready());
    return producer->Reach(deadline);
  }

  void Publish(std::span<const Message> batch, std::span<Status> results,
               Deadline deadline) override {
    if (batch.empty()) return;
    std::shared_ptr<Producer> producer;
    std::unique_ptr<Producer::Call> call;
    {
      // Batches follow one another.
      const std::lock_guard lock(sending_);
      auto ready = Ready();
      Status reached = ready.error();
      if (ready.ok()) {
        producer = *std::move(ready);
        if (producer->needs_reaching()) reached = producer->Reach(deadline);
      }
      if (!reached.ok()) {
        std::fill(results.begin(), results.end(), reached);
        return;
      }
      call = producer->Begin(results);
      Send(*producer, *call, batch, results, deadline);
    }
    producer->Finish(*call, deadline);
  }

  void Close(Deadline) noexcept override {
    const std::lock_guard lock(mutex_);
    producer_.reset();
  }

 private:
  void Send(Producer& producer, Producer::Call& call, std::span<const Message> batch,
            std::span<Status> results, Deadline deadline) const {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const Message& message = batch[i];
      const bool plain = options_.body == message::BodyFormat::kPlain;
      const std::string body = plain ? "" : message::MakeBody(message, options_.body);
      const auto created = message.created_at.time_since_epoch();
      KafkaRecord record{
          .topic = options_.topic.Render(message),
          .key = message.key,
          .body = plain ? message.payload : body,
          .headers = MakeHeaders(message),
          .timestamp_ms = std::chrono::floor<std::chrono::milliseconds>(created).count()};
      if (IsTopic(record.topic)) {
        producer.Add(call, i, std::move(record), deadline);
      } else {
        results[i] = Status::Invalid(base::StrCat("'", base::CleanError(record.topic, 80),
                                                  "' is not the name of a Kafka topic"))
                         .WithHint("look at the option topic");
      }
    }
  }

  // A broken producer is left to the calls that still use it.
  Result<std::shared_ptr<Producer>> Ready() {
    const std::lock_guard lock(mutex_);
    if (producer_ == nullptr || producer_->broken()) {
      OUTBOX_ASSIGN_OR_RETURN(producer_, Producer::Make(options_));
    }
    return producer_;
  }

  const KafkaOptions options_;
  std::mutex sending_;  // taken before mutex_
  std::mutex mutex_;
  std::shared_ptr<Producer> producer_;  // guarded by mutex_
};

}  // namespace

Result<std::shared_ptr<Sink>> MakeKafkaSink(const SinkUri& uri) {
  OUTBOX_ASSIGN_OR_RETURN(KafkaOptions options, ReadKafkaOptions(uri));
  return std::shared_ptr<Sink>(std::make_shared<KafkaSink>(std::move(options)));
}

}  // namespace outbox::sink
