// MessageSeries: what is counted for single messages, by table and topic.
//
// The one place where metrics cost something for each message: a look-up in two hash tables under a
// mutex that is held for nothing else, then increments without it.
//
// Threads: any.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "outbox/message.h"
#include "outbox/observer.h"
#include "outbox/status.h"
#include "service/metrics/labels.h"

namespace outbox::service {

// What the sink answered for a message; what the database recorded in the end is RelaySeries'.
enum class DispatchResult : std::uint8_t { kDelivered, kRetry, kRejected, kSinkDown };
inline constexpr std::size_t kDispatchResults = 4;

DispatchResult DispatchResultOf(Disposition disposition) noexcept;
std::string_view ToString(DispatchResult result) noexcept;

class MessageSeries {
 public:
  // `registry` outlives it.
  MessageSeries(prometheus::Registry& registry, std::size_t topics_max);

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

  // The series of one topic of one table, made when they are first needed.
  struct Topic {
    std::string label;
    prometheus::Counter* enqueued = nullptr;
    prometheus::Counter* dead = nullptr;
    std::array<prometheus::Counter*, kDispatchResults> dispatched{};
    std::array<prometheus::Histogram*, kDispatchResults> latency{};
  };
  struct Table {
    std::string label;
    prometheus::Histogram* publish_delay = nullptr;
    prometheus::Counter* lease_lost = nullptr;
    TextMap<Topic> topics;
    Topic other;
  };
  struct DispatchSeries {
    prometheus::Counter& count;
    prometheus::Histogram& latency;
    prometheus::Histogram& publish_delay;
  };

  DispatchSeries FindDispatch(const Message& message, DispatchResult result);

  // With mutex_ held.
  Table& TableOf(std::string_view table);
  Topic& TopicOf(Table& table, std::string_view topic);
  // So that rates see the first failure and the first dead one, they begin at 0.
  void AddDispatch(const Table& table, Topic& topic);

  prometheus::Family<prometheus::Counter>& enqueue_total_;
  prometheus::Family<prometheus::Counter>& dispatch_total_;
  prometheus::Family<prometheus::Counter>& dead_total_;
  prometheus::Family<prometheus::Counter>& lease_lost_total_;
  prometheus::Family<prometheus::Histogram>& dispatch_latency_;
  prometheus::Family<prometheus::Histogram>& publish_delay_;

  std::mutex mutex_;
  TopicLabels topic_labels_;  // guarded by mutex_
  TextMap<Table> tables_;     // guarded by mutex_; as many as there are outbox tables
};

}  // namespace outbox::service
