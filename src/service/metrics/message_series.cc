#include "service/metrics/message_series.h"

#include <algorithm>

#include "service/metrics/families.h"

namespace outbox::service {
namespace {

// One Publish call: a millisecond to the usual dispatch timeout.
const prometheus::Histogram::BucketBoundaries& LatencyBuckets() {
  static const prometheus::Histogram::BucketBoundaries kBuckets{
      0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};
  return kBuckets;
}

// Insert to confirmation: from five milliseconds over the alert's 30 seconds to an outage's hour.
const prometheus::Histogram::BucketBoundaries& DelayBuckets() {
  static const prometheus::Histogram::BucketBoundaries kBuckets{
      0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600};
  return kBuckets;
}

std::size_t Index(DispatchResult result) { return static_cast<std::size_t>(result); }

}  // namespace

DispatchResult DispatchResultOf(Disposition disposition) noexcept {
  switch (disposition) {
    case Disposition::kNone: return DispatchResult::kDelivered;
    case Disposition::kRetry:
    case Disposition::kInDoubt: return DispatchResult::kRetry;
    case Disposition::kPermanent: return DispatchResult::kRejected;
    case Disposition::kSinkDown: return DispatchResult::kSinkDown;
  }
  return DispatchResult::kRetry;
}

std::string_view ToString(DispatchResult result) noexcept {
  switch (result) {
    case DispatchResult::kDelivered: return "delivered";
    case DispatchResult::kRetry: return "retry";
    case DispatchResult::kRejected: return "rejected";
    case DispatchResult::kSinkDown: return "sink_down";
  }
  return "retry";
}

MessageSeries::MessageSeries(prometheus::Registry& registry, std::size_t topics_max)
    : enqueue_total_(AddCounter(registry, "outbox_enqueue_total",
                                "Messages that this process wrote, duplicates not counted.")),
      dispatch_total_(AddCounter(registry, "outbox_dispatch_total",
                                 "Answers of the sink, one for each message of each attempt.")),
      dead_total_(AddCounter(registry, "outbox_dead_total",
                             "Messages that became dead; with routes, deliveries.")),
      lease_lost_total_(AddCounter(registry, "outbox_lease_lost_total",
                                   "Messages that another relay took over while held.")),
      dispatch_latency_(AddHistogram(registry, "outbox_dispatch_latency_seconds",
                                     "Time of the sink's call that a message was part of.")),
      publish_delay_(AddHistogram(registry, "outbox_publish_delay_seconds",
                                  "Time from a message's created_at to its confirmation.")),
      topic_labels_(topics_max) {}

void MessageSeries::Dispatched(const Message& message, const Status& result,
                               RelayObserver::Duration took, Timestamp now) {
  const DispatchSeries series = FindDispatch(message, DispatchResultOf(result.disposition()));
  series.count.Increment();
  series.latency.Observe(Seconds(took));
  if (!result.ok()) return;
  // The two clocks are different machines'.
  const auto delay = std::max(now - message.created_at, Timestamp::duration::zero());
  series.publish_delay.Observe(std::chrono::duration<double>(delay).count());
}

void MessageSeries::Dead(const Message& message) {
  prometheus::Counter* dead = nullptr;
  {
    const std::lock_guard lock(mutex_);
    Table& table = TableOf(message.table);
    Topic& topic = TopicOf(table, message.topic);
    if (topic.dead == nullptr) AddDispatch(table, topic);
    dead = topic.dead;
  }
  dead->Increment();
}

void MessageSeries::LeaseLost(const Message& message) {
  prometheus::Counter* lost = nullptr;
  {
    const std::lock_guard lock(mutex_);
    lost = TableOf(message.table).lease_lost;
  }
  lost->Increment();
}

void MessageSeries::Enqueued(std::string_view table, std::string_view topic) {
  prometheus::Counter* enqueued = nullptr;
  {
    const std::lock_guard lock(mutex_);
    Table& of_table = TableOf(table);
    Topic& of_topic = TopicOf(of_table, topic);
    if (of_topic.enqueued == nullptr) {
      of_topic.enqueued =
          &enqueue_total_.Add({{"table", of_table.label}, {"topic", of_topic.label}});
    }
    enqueued = of_topic.enqueued;
  }
  enqueued->Increment();
}

MessageSeries::DispatchSeries MessageSeries::FindDispatch(const Message& message,
                                                          DispatchResult result) {
  const std::lock_guard lock(mutex_);
  Table& table = TableOf(message.table);
  Topic& topic = TopicOf(table, message.topic);
  if (topic.dead == nullptr) AddDispatch(table, topic);
  prometheus::Histogram*& latency = topic.latency[Index(result)];
  if (latency == nullptr) {
    latency = &dispatch_latency_.Add(
        {{"table", table.label}, {"topic", topic.label}, {"result", std::string(ToString(result))}},
        LatencyBuckets());
  }
  return {*topic.dispatched[Index(result)], *latency, *table.publish_delay};
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
  if (const auto found = table.topics.find(topic); found != table.topics.end()) {
    return found->second;
  }
  if (!topic_labels_.Admit(topic)) return table.other;
  Topic& added = table.topics[std::string(topic)];
  added.label = CleanLabel(topic);
  return added;
}

void MessageSeries::AddDispatch(const Table& table, Topic& topic) {
  const prometheus::Labels labels{{"table", table.label}, {"topic", topic.label}};
  topic.dead = &dead_total_.Add(labels);
  for (std::size_t i = 0; i < kDispatchResults; ++i) {
    prometheus::Labels with_result = labels;
    with_result.emplace("result", ToString(static_cast<DispatchResult>(i)));
    topic.dispatched[i] = &dispatch_total_.Add(with_result);
  }
}

}  // namespace outbox::service
