#include "service/metrics/relay_series.h"

#include "service/metrics/families.h"
#include "service/metrics/labels.h"

namespace outbox::service {
namespace {

constexpr std::array<const char*, 5> kOutcomeNames{"delivered", "retry", "dead", "released",
                                                   "lost"};

prometheus::Labels With(prometheus::Labels labels, const std::string& name,
                        const std::string& value) {
  labels.emplace(name, value);
  return labels;
}

double Number(std::size_t count) { return static_cast<double>(count); }

}  // namespace

RelaySeries::RelaySeries(prometheus::Registry& registry)
    : claims_total_(AddCounter(registry, "outbox_claims_total",
                               "Claims that came back, with messages or empty.")),
      claimed_total_(AddCounter(registry, "outbox_claimed_total", "Messages that were claimed.")),
      claim_duration_(AddHistogram(registry, "outbox_claim_duration_seconds",
                                   "Time that the database took for a claim.")),
      settled_total_(AddCounter(registry, "outbox_settled_total",
                                "Outcomes that the database recorded, or refused as lost.")),
      settle_duration_(AddHistogram(registry, "outbox_settle_duration_seconds",
                                    "Time that the database took to record outcomes.")),
      split_messages_total_(AddCounter(registry, "outbox_split_messages_total",
                                       "Messages that became deliveries, or have no route.")),
      split_deliveries_total_(AddCounter(registry, "outbox_split_deliveries_total",
                                         "Deliveries that messages were split into.")),
      unrouted_total_(AddCounter(registry, "outbox_unrouted_total",
                                 "Messages that no route took, at each look at them.")),
      split_duration_(AddHistogram(registry, "outbox_split_duration_seconds",
                                   "Time that the database took to split a batch of messages.")),
      store_errors_total_(
          AddCounter(registry, "outbox_store_errors_total", "Calls of the database that failed.")),
      purged_total_(AddCounter(registry, "outbox_purged_total", "Rows that the cleaner removed.")) {
}

void RelaySeries::Claimed(std::string_view relay, std::size_t count, Duration took) {
  const Relay series = RelayOf(relay);
  (count == 0 ? series.claims_empty : series.claims_filled)->Increment();
  series.claimed->Increment(Number(count));
  series.claim_duration->Observe(Seconds(took));
}

void RelaySeries::Settled(std::string_view relay, const SettleCounts& counts, Duration took) {
  const Relay series = RelayOf(relay);
  const std::array<std::size_t, kOutcomes> in_order{counts.delivered, counts.retried, counts.dead,
                                                    counts.released, counts.lost};
  for (std::size_t i = 0; i < kOutcomes; ++i) series.settled[i]->Increment(Number(in_order[i]));
  series.settle_duration->Observe(Seconds(took));
}

void RelaySeries::Split(std::string_view table, std::size_t messages, std::size_t deliveries,
                        std::size_t unrouted, Duration took) {
  const Splitter series = SplitterOf(table);
  series.messages->Increment(Number(messages));
  series.deliveries->Increment(Number(deliveries));
  series.unrouted->Increment(Number(unrouted));
  series.duration->Observe(Seconds(took));
}

void RelaySeries::StoreError(std::string_view relay, std::string_view operation) {
  store_errors_total_
      .Add({{"table", LabelsOfRelay(relay).table}, {"operation", CleanLabel(operation)}})
      .Increment();
}

void RelaySeries::Purged(std::string_view table, const PurgeCounts& counts) {
  const prometheus::Labels labels{{"table", CleanLabel(table)}};
  purged_total_.Add(With(labels, "status", "delivered")).Increment(Number(counts.delivered));
  purged_total_.Add(With(labels, "status", "dead")).Increment(Number(counts.dead));
  purged_total_.Add(With(labels, "status", "audit")).Increment(Number(counts.audit));
}

RelaySeries::Relay RelaySeries::RelayOf(std::string_view relay) {
  const std::lock_guard lock(mutex_);
  if (const auto found = relays_.find(relay); found != relays_.end()) return found->second;
  const auto [table, sink] = LabelsOfRelay(relay);
  const prometheus::Labels labels{{"table", table}, {"sink", sink}};
  Relay series{.claims_empty = &claims_total_.Add(With(labels, "result", "empty")),
               .claims_filled = &claims_total_.Add(With(labels, "result", "messages")),
               .claimed = &claimed_total_.Add(labels),
               .claim_duration = &claim_duration_.Add(labels, DatabaseBuckets()),
               .settle_duration = &settle_duration_.Add(labels, DatabaseBuckets())};
  for (std::size_t i = 0; i < kOutcomes; ++i) {
    series.settled[i] = &settled_total_.Add(With(labels, "result", kOutcomeNames[i]));
  }
  return relays_.emplace(relay, series).first->second;
}

RelaySeries::Splitter RelaySeries::SplitterOf(std::string_view table) {
  const std::lock_guard lock(mutex_);
  if (const auto found = splitters_.find(table); found != splitters_.end()) return found->second;
  const prometheus::Labels labels{{"table", CleanLabel(table)}};
  const Splitter series{.messages = &split_messages_total_.Add(labels),
                        .deliveries = &split_deliveries_total_.Add(labels),
                        .unrouted = &unrouted_total_.Add(labels),
                        .duration = &split_duration_.Add(labels, DatabaseBuckets())};
  return splitters_.emplace(table, series).first->second;
}

}  // namespace outbox::service
