#include "service/metrics/message_series.h"

#include <algorithm>

#include "service/metrics/families.h"

namespace outbox::service {
namespace {

// Between a table and a topic; no label has it.
constexpr char kPlaceSeparator = '\n';

// One Publish call: a millisecond to the usual dispatch timeout.
const prometheus::Histogram::BucketBoundaries& LatencyBuckets() {
  static const auto& kBuckets = *new prometheus::Histogram::BucketBoundaries{
      0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};
  return kBuckets;
}

// Insert to confirmation: from five milliseconds over the alert's 30 seconds to an outage's hour.
const prometheus::Histogram::BucketBoundaries& DelayBuckets() {
  static const auto& kBuckets = *new prometheus::Histogram::BucketBoundaries{
      0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600};
  return kBuckets;
}

// The words of the label `result`.
constexpr std::size_t kSuccess = 0;
constexpr std::size_t kFailure = 1;
constexpr std::array<const char*, 2> kResultNames{"success", "failure"};

template <typename Metric>
void RemoveFrom(prometheus::Family<Metric>& family, Metric* series) {
  if (series != nullptr) family.Remove(series);
}

}  // namespace

std::optional<FailureReason> FailureReasonOf(Disposition disposition) noexcept {
  switch (disposition) {
    case Disposition::kNone: return std::nullopt;
    case Disposition::kRetry:
    case Disposition::kInDoubt: return FailureReason::kRetry;
    case Disposition::kPermanent: return FailureReason::kRejected;
    case Disposition::kSinkDown: return FailureReason::kSinkDown;
  }
  return FailureReason::kRetry;
}

std::string_view ToString(FailureReason reason) noexcept {
  switch (reason) {
    case FailureReason::kRetry: return "retry";
    case FailureReason::kRejected: return "rejected";
    case FailureReason::kSinkDown: return "sink_down";
  }
  return "retry";
}

MessageSeries::MessageSeries(prometheus::Registry& registry, std::size_t topics_max, Clock clock)
    : enqueue_total_(AddCounter(registry, "outbox_enqueue_total",
                                "Messages that this process wrote, duplicates not counted.")),
      dispatch_total_(AddCounter(registry, "outbox_dispatch_total",
                                 "Answers of the sink, one for each message of each attempt.")),
      dispatch_failures_total_(AddCounter(registry, "outbox_dispatch_failures_total",
                                          "Answers of the sink that were failures, by reason.")),
      dead_total_(AddCounter(registry, "outbox_dead_total",
                             "Messages that became dead; with routes, deliveries.")),
      lease_lost_total_(AddCounter(registry, "outbox_lease_lost_total",
                                   "Messages that another relay took over while held.")),
      dispatch_latency_(AddHistogram(registry, "outbox_dispatch_latency_seconds",
                                     "Time of the sink's call that a message was part of.")),
      publish_delay_(AddHistogram(registry, "outbox_publish_delay_seconds",
                                  "Time from a message's created_at to its confirmation.")),
      clock_(clock ? std::move(clock) : Clock(std::chrono::steady_clock::now)),
      topic_labels_(topics_max) {}

void MessageSeries::Dispatched(const Message& message, const Status& result,
                               RelayObserver::Duration took, Timestamp now) {
  const auto reason = FailureReasonOf(result.disposition());
  const std::size_t outcome = reason ? kFailure : kSuccess;
  const std::lock_guard lock(mutex_);
  Table& table = TableOf(message.table);
  Topic& topic = TopicOf(table, message.topic);
  if (topic.dead == nullptr) AddDispatch(table, topic);
  prometheus::Histogram*& latency = topic.latency[outcome];
  if (latency == nullptr) {
    latency = &dispatch_latency_.Add(
        {{"table", table.label}, {"topic", topic.label}, {"result", kResultNames[outcome]}},
        LatencyBuckets());
  }
  topic.dispatched[outcome]->Increment();
  latency->Observe(Seconds(took));
  if (reason) {
    topic.failures[static_cast<std::size_t>(*reason)]->Increment();
    return;
  }
  // The two clocks are different machines'.
  const auto delay = std::max(now - message.created_at, Timestamp::duration::zero());
  table.publish_delay->Observe(std::chrono::duration<double>(delay).count());
}

void MessageSeries::Dead(const Message& message) {
  const std::lock_guard lock(mutex_);
  Table& table = TableOf(message.table);
  Topic& topic = TopicOf(table, message.topic);
  if (topic.dead == nullptr) AddDispatch(table, topic);
  topic.dead->Increment();
}

void MessageSeries::LeaseLost(const Message& message) {
  const std::lock_guard lock(mutex_);
  TableOf(message.table).lease_lost->Increment();
}

void MessageSeries::Enqueued(std::string_view table, std::string_view topic) {
  const std::lock_guard lock(mutex_);
  Table& of_table = TableOf(table);
  Topic& of_topic = TopicOf(of_table, topic);
  if (of_topic.enqueued == nullptr) {
    of_topic.enqueued = &enqueue_total_.Add({{"table", of_table.label}, {"topic", of_topic.label}});
  }
  of_topic.enqueued->Increment();
}

MessageSeries::Table& MessageSeries::TableOf(std::string_view table) {
  if (const auto found = tables_.find(table); found != tables_.end()) return found->second;
  Table& added = tables_[std::string(table)];
  added.label = CleanLabel(table);
  added.other.label = kOtherTopics;
  added.publish_delay = &publish_delay_.Add({{"table", added.label}}, DelayBuckets());
  added.lease_lost = &lease_lost_total_.Add({{"table", added.label}});
  return added;
}

MessageSeries::Topic& MessageSeries::TopicOf(Table& table, std::string_view topic) {
  place_.assign(table.label).append(1, kPlaceSeparator).append(topic);
  const TopicLabels::Place place = topic_labels_.Admit(place_, clock_());
  if (place.lost_by) Forget(*place.lost_by);
  if (!place.admitted) return table.other;
  if (const auto found = table.topics.find(topic); found != table.topics.end()) {
    return found->second;
  }
  Topic& added = table.topics[std::string(topic)];
  added.label = CleanLabel(topic);
  return added;
}

void MessageSeries::AddDispatch(const Table& table, Topic& topic) {
  const prometheus::Labels labels{{"table", table.label}, {"topic", topic.label}};
  topic.dead = &dead_total_.Add(labels);
  for (std::size_t i = 0; i < kResults; ++i) {
    prometheus::Labels with_result = labels;
    with_result.emplace("result", kResultNames[i]);
    topic.dispatched[i] = &dispatch_total_.Add(with_result);
  }
  for (std::size_t i = 0; i < kFailureReasons; ++i) {
    prometheus::Labels with_reason = labels;
    with_reason.emplace("reason", ToString(static_cast<FailureReason>(i)));
    topic.failures[i] = &dispatch_failures_total_.Add(with_reason);
  }
}

void MessageSeries::Forget(std::string_view place) {
  const std::size_t end = place.find(kPlaceSeparator);
  for (auto& [name, table] : tables_) {
    if (table.label != place.substr(0, end)) continue;
    const auto found = table.topics.find(place.substr(end + 1));
    if (found == table.topics.end()) continue;
    const Topic& series = found->second;
    RemoveFrom(enqueue_total_, series.enqueued);
    RemoveFrom(dead_total_, series.dead);
    for (prometheus::Counter* counter : series.dispatched) RemoveFrom(dispatch_total_, counter);
    for (prometheus::Histogram* latency : series.latency) RemoveFrom(dispatch_latency_, latency);
    for (prometheus::Counter* counter : series.failures) {
      RemoveFrom(dispatch_failures_total_, counter);
    }
    table.topics.erase(found);
  }
}

}  // namespace outbox::service
