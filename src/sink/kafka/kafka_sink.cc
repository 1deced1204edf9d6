#include "sink/kafka/kafka_sink.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "sink/kafka/options.h"
#include "sink/kafka/producer.h"
#include "sink/metadata.h"

namespace outbox::sink {
namespace {

constexpr std::size_t kBatchMax = 1000;
constexpr std::size_t kTopicBytesMax = 249;

bool IsTopic(std::string_view name) {
  return !name.empty() && name.size() <= kTopicBytesMax &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-';
         });
}

class KafkaSink final : public Sink {
 public:
  explicit KafkaSink(KafkaOptions options) : options_(std::move(options)) {}

  std::string_view name() const noexcept override { return "kafka"; }
  SinkTraits traits() const noexcept override {
    return {.batch_max = kBatchMax, .concurrency = options_.producers};
  }

  Status Open(Deadline deadline) override {
    OUTBOX_ASSIGN_OR_RETURN(std::unique_ptr<Producer> producer, Take());
    Status reached = producer->Reach(deadline);
    GiveBack(std::move(producer));
    return reached;
  }

  void Publish(std::span<const Message> batch, std::span<Status> results,
               Deadline deadline) override {
    if (batch.empty()) return;
    auto taken = Take();
    if (!taken.ok()) {
      std::fill(results.begin(), results.end(), taken.error());
      return;
    }
    std::unique_ptr<Producer> producer = *std::move(taken);
    if (const Status reached =
            producer->needs_reaching() ? producer->Reach(deadline) : Status::Ok();
        !reached.ok()) {
      std::fill(results.begin(), results.end(), reached);
    } else {
      Send(*producer, batch, results, deadline);
    }
    GiveBack(std::move(producer));
  }

  void Close(Deadline) noexcept override {
    const std::lock_guard lock(mutex_);
    idle_.clear();
  }

 private:
  void Send(Producer& producer, std::span<const Message> batch, std::span<Status> results,
            Deadline deadline) const {
    producer.Begin(results);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const Message& message = batch[i];
      const bool plain = options_.body == message::BodyFormat::kPlain;
      const std::string body = plain ? "" : message::MakeBody(message, options_.body);
      const auto created = message.created_at.time_since_epoch();
      const KafkaRecord record{
          .topic = options_.topic.Render(message),
          .key = message.key,
          .body = plain ? message.payload : body,
          .headers = DeliveryHeaders(message),
          .timestamp_ms = std::chrono::floor<std::chrono::milliseconds>(created).count()};
      if (IsTopic(record.topic)) {
        producer.Add(i, record, deadline);
      } else {
        results[i] = Status::Invalid(base::StrCat("'", base::CleanError(record.topic, 80),
                                                  "' is not the name of a Kafka topic"))
                         .WithHint("look at the option topic");
      }
    }
    producer.Finish(deadline);
  }

  Result<std::unique_ptr<Producer>> Take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<Producer> producer = std::move(idle_.back());
        idle_.pop_back();
        return producer;
      }
    }
    return Producer::Make(options_);
  }

  // A broken producer ends here, and the next call makes a new one.
  void GiveBack(std::unique_ptr<Producer> producer) {
    if (producer->broken()) return;
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(producer));
  }

  const KafkaOptions options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Producer>> idle_;
};

}  // namespace

Result<std::shared_ptr<Sink>> MakeKafkaSink(const SinkUri& uri) {
  OUTBOX_ASSIGN_OR_RETURN(KafkaOptions options, ReadKafkaOptions(uri));
  return std::shared_ptr<Sink>(std::make_shared<KafkaSink>(std::move(options)));
}

}  // namespace outbox::sink
