// MessageSeries: what is counted for single messages, by table and topic.
//
// The one place where metrics cost something for each message: a look-up and increments under a
// mutex that is held for nothing else. A topic that lost its place (TopicLabels) takes its series
// along.
//
// Threads: any.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "outbox/message.h"
#include "outbox/observer.h"
#include "outbox/status.h"
#include "service/metrics/labels.h"

namespace outbox::service {

// Why a sink did not take a message; what the database recorded in the end is RelaySeries'.
enum class FailureReason : std::uint8_t { kRetry, kRejected, kSinkDown };
inline constexpr std::size_t kFailureReasons = 3;

// Nothing for a message that was delivered.
std::optional<FailureReason> FailureReasonOf(Disposition disposition) noexcept;
std::string_view ToString(FailureReason reason) noexcept;

class MessageSeries {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  // `registry` outlives it. Without a clock it is the system's.
  MessageSeries(prometheus::Registry& registry, std::size_t topics_max, Clock clock = nullptr);

  // `now` is when the sink answered, by the wall clock.
  void Dispatched(const Message& message, const Status& result, RelayObserver::Duration took,
                  Timestamp now);
  void Dead(const Message& message);
  void LeaseLost(const Message& message);
  void Enqueued(std::string_view table, std::string_view topic);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  template <typename Value>
  using TextMap = std::unordered_map<std::string, Value, Hash, std::equal_to<>>;

  // "success" and "failure".
  static constexpr std::size_t kResults = 2;

  // The series of one topic of one table, made when they are first needed.
  struct Topic {
    std::string label;
    prometheus::Counter* enqueued = nullptr;
    prometheus::Counter* dead = nullptr;
    std::array<prometheus::Counter*, kResults> dispatched{};
    std::array<prometheus::Histogram*, kResults> latency{};
    std::array<prometheus::Counter*, kFailureReasons> failures{};
  };
  struct Table {
    std::string label;
    prometheus::Histogram* publish_delay = nullptr;
    prometheus::Counter* lease_lost = nullptr;
    TextMap<Topic> topics;
    Topic other;
  };
  // With mutex_ held.
  Table& TableOf(std::string_view table);
  Topic& TopicOf(Table& table, std::string_view topic);
  // So that rates see the first failure and the first dead one, they begin at 0.
  void AddDispatch(const Table& table, Topic& topic);
  void Forget(std::string_view place);

  prometheus::Family<prometheus::Counter>& enqueue_total_;
  prometheus::Family<prometheus::Counter>& dispatch_total_;
  prometheus::Family<prometheus::Counter>& dispatch_failures_total_;
  prometheus::Family<prometheus::Counter>& dead_total_;
  prometheus::Family<prometheus::Counter>& lease_lost_total_;
  prometheus::Family<prometheus::Histogram>& dispatch_latency_;
  prometheus::Family<prometheus::Histogram>& publish_delay_;

  const Clock clock_;
  std::mutex mutex_;
  TopicLabels topic_labels_;  // guarded by mutex_; a place is a topic of a table
  std::string place_;         // guarded by mutex_; kept for its memory
  TextMap<Table> tables_;     // guarded by mutex_; as many as there are outbox tables
};

}  // namespace outbox::service
