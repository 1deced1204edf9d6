// Producer: one idempotent librdkafka producer and the calls that are using it.
//
//   const auto call = producer.Begin(results);
//   for (…) producer.Add(*call, i, record, deadline);
//   producer.Finish(*call, deadline);    // every result is decided
//
// A broker that dislikes one message refuses all of its request. Finish returns those, to be
// produced again in smaller parts.
//
// A delivery report decides a message. Reports arrive on the threads that wait for them, inside
// Add, Finish and Reach; one that comes after its call has given up is known by its ticket and
// dropped, so nothing of a finished call is ever touched.
//
// Threads: any; a call is used by the one that has begun it. Messages go out in the order in which
// they were added. librdkafka runs some threads of its own.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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
  KafkaHeaders headers;
  std::int64_t timestamp_ms = 0;
};

class Producer {
 public:
  class Call;
  // Whether several calls share its requests, or one call at a time has it, with one request under
  // way at a time.
  enum class Use : std::uint8_t { kShared, kAlone };

  // Messages to be produced again. All have results, in case they are not.
  struct Leftover {
    std::vector<std::size_t> refused_together;  // with others; they may be innocent. Retries.
    std::vector<std::size_t>
        taken_along;                  // never sent, for the purge of another call: not attempted
    std::vector<std::size_t> unsent;  // when the time was up
  };

  // Connects in the background.
  static Result<std::unique_ptr<Producer>> Make(std::shared_ptr<const KafkaOptions> options,
                                                Use use);
  ~Producer();
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  // OK once a broker has answered. Gives up early on refused credentials and when no broker
  // takes connections.
  Status Reach(Deadline deadline);
  // No broker has answered yet, or all connections were lost and nothing has been confirmed since:
  // to be reached before anything is handed over.
  bool needs_reaching() const;
  // Of no more use: an idempotent producer that lost track of its sequence refuses everything.
  bool broken() const noexcept;

  // `results` must live until Finish has returned. `alone`: it will have one message, and nobody
  // else uses the producer.
  std::unique_ptr<Call> Begin(std::span<Status> results, bool alone = false);
  void Add(Call& call, std::size_t index, KafkaRecord record, Deadline deadline);
  // Waits for the reports. What was not sent by then never will be.
  Leftover Finish(Call& call, Deadline deadline);

 private:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;

  explicit Producer(std::shared_ptr<const KafkaOptions> options) : options_(std::move(options)) {}
  static void OnReport(rd_kafka_t*, const rd_kafka_message_t* message, void* self);
  static void OnError(rd_kafka_t*, int error, const char* reason, void* self);

  rd_kafka_resp_err_t Produce(const Call& call, std::size_t index, KafkaRecord& record);
  void Decide(const rd_kafka_message_t& message);
  // Lets reports come in; returns when some have, or after `wait`. Drops the lock meanwhile. A
  // thread that will go on until its `own` call has ended wakes the others only when some call has.
  void Poll(Lock& lock, std::chrono::milliseconds wait, const Call* own = nullptr);
  bool Answers(std::chrono::milliseconds wait);
  bool GivenUpAsDown();
  // librdkafka takes back what it has of all calls. What it has sent it keeps while another call
  // waits: that would be in doubt for this one's sake.
  void Purge(Call& call, Deadline deadline);
  void DecideUnreported(Call& call) const;
  void DecideUnsent(Call& call, Deadline deadline);
  Status Failure(KafkaFailure failure) const;
  Status NotReached() const;

  const std::shared_ptr<const KafkaOptions> options_;
  KafkaClient client_;
  std::atomic<bool> fatal_{false};

  mutable std::mutex mutex_;  // guards all below, and the calls as far as they do not say otherwise

  // The cluster, as far as is known.
  bool reached_ = false;
  std::optional<Clock::time_point> down_since_;  // all connections failed, says librdkafka
  rd_kafka_resp_err_t last_error_ = RD_KAFKA_RESP_ERR_NO_ERROR;  // of a connection
  std::string last_reason_;

  std::uint32_t last_call_ = 0;
  std::map<std::uint32_t, Call*> calls_;  // those under way
  bool polling_ = false;                  // one thread asks librdkafka, the others wait for it
  bool call_ended_ = false;               // since they were woken last
  std::condition_variable polled_;
};

// One Publish call: its messages and what is known of them.
class Producer::Call {
 public:
  // REQUIRES: the producer is still there. Reports that come later are nobody's.
  ~Call() {
    const std::lock_guard lock(producer.mutex_);
    producer.calls_.erase(number);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  friend class Producer;
  explicit Call(Producer& its) : producer(its) {}

  Producer& producer;
  std::uint32_t number = 0;
  std::span<Status> results;
  bool alone = false;
  // Messages handed over, of which no report has come: 1. Set before librdkafka is given the
  // message, cleared by its report, so that no two threads use an element at a time.
  std::vector<char> open;
  std::atomic<std::size_t> outstanding = 0;
  bool gave_up = false;
  Leftover left;

  void Close(std::size_t index) {
    open[index] = 0;
    --outstanding;
  }
};

}  // namespace outbox::sink
