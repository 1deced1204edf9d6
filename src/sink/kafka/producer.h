// Producer: one idempotent librdkafka producer and the call that is using it.
//
//   producer.Begin(results);
//   for (…) producer.Add(i, record, deadline);
//   producer.Finish(deadline);           // every result is decided
//
// A delivery report decides a message. Reports arrive on the calling thread, inside Add, Finish and
// Reach; one that comes after its call has given up is known by its ticket and dropped, so nothing
// of a finished call is ever touched.
//
// Threads: used by one at a time; librdkafka runs some of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "outbox/deadline.h"
#include "outbox/message.h"
#include "outbox/status.h"
#include "sink/kafka/classify_error.h"
#include "sink/kafka/handles.h"
#include "sink/kafka/options.h"

namespace outbox::sink {

struct KafkaRecord {
  std::string topic;
  std::string_view key;  // empty: the record has none
  std::string_view body;
  Headers headers;
  std::int64_t timestamp_ms = 0;
};

class Producer {
 public:
  // `options` outlives the producer. Connects in the background.
  static Result<std::unique_ptr<Producer>> Make(const KafkaOptions& options);
  ~Producer();
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  // OK once a broker has answered. Gives up early on refused credentials and when no broker
  // takes connections.
  Status Reach(Deadline deadline);
  // No broker has answered yet, or all connections were lost and nothing has been confirmed since:
  // to be reached before anything is handed over.
  bool needs_reaching() const noexcept { return !reached_ || down_since_.has_value(); }
  // Of no more use: an idempotent producer that lost track of its sequence refuses everything.
  bool broken() const noexcept;

  // `results` must live until Finish has returned.
  void Begin(std::span<Status> results);
  void Add(std::size_t index, const KafkaRecord& record, Deadline deadline);
  // Waits for the reports. What was not sent by then never will be.
  void Finish(Deadline deadline);

 private:
  using Clock = std::chrono::steady_clock;

  explicit Producer(const KafkaOptions& options) : options_(options) {}
  static void OnReport(rd_kafka_t*, const rd_kafka_message_t* message, void* self);
  static void OnError(rd_kafka_t*, int error, const char* reason, void* self);

  rd_kafka_resp_err_t Produce(std::size_t index, const KafkaRecord& record);
  void Decide(const rd_kafka_message_t& message);
  bool Answers(std::chrono::milliseconds wait);
  bool GivenUpAsDown();
  void Purge(Deadline deadline);
  void DecideUnsent(Deadline deadline);
  Status Failure(KafkaFailure failure) const;
  Status NotReached() const;

  const KafkaOptions& options_;
  KafkaClient client_;

  // The cluster, as far as is known.
  bool reached_ = false;
  std::optional<Clock::time_point> down_since_;  // all connections failed, says librdkafka
  rd_kafka_resp_err_t last_error_ = RD_KAFKA_RESP_ERR_NO_ERROR;  // of a connection
  std::string last_reason_;
  bool fatal_ = false;

  // The call under way.
  std::uint32_t call_ = 0;
  std::span<Status> results_;
  std::size_t outstanding_ = 0;
  std::vector<std::size_t> unsent_;
};

}  // namespace outbox::sink
