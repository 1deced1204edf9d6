#include "store/postgres/split_store.h"

#include <array>

#include "base/text.h"
#include "message/validate.h"
#include "sql/postgres.h"
#include "store/postgres/fnv.h"
#include "store/postgres/table_check.h"
#include "store/postgres/work_watch.h"

namespace outbox::store::postgres {
namespace {

namespace queries = sql::postgres;

// The columns of split_candidates.sql.
enum Column : int { kId, kSeq, kTopic, kKey, kAvailableAt };

// The deliveries to be added, and the messages they come of.
struct Plan {
  std::vector<Uuid> ids;
  std::vector<std::int64_t> seqs;
  std::vector<std::string> destinations;
  std::vector<std::string> order_keys;
  std::vector<std::int16_t> order_waits;
  std::vector<Uuid> routed;
  std::vector<Uuid> unrouted;
};

Plan MakePlan(const Rows& candidates, const message::Routes& routes) {
  Plan plan;
  for (int row = 0; row < candidates.size(); ++row) {
    const Uuid id = candidates.Id(row, kId);
    const auto targets = routes.For(candidates.Text(row, kTopic));
    (targets.empty() ? plan.unrouted : plan.routed).push_back(id);
    for (const message::Routes::Target& target : targets) {
      plan.ids.push_back(id);
      plan.seqs.push_back(candidates.Int8(row, kSeq));
      plan.destinations.emplace_back(target.destination);
      plan.order_keys.emplace_back(target.ordered ? candidates.Text(row, kKey) : "");
      plan.order_waits.push_back(target.waits_for_dead ? 1 : 0);
    }
  }
  return plan;
}

std::int64_t LockKey(const message::TableName& table) {
  return std::bit_cast<std::int64_t>(Fnv1a(base::StrCat("outbox-split ", table.Display())));
}

std::int16_t Number(message::Unrouted unrouted) {
  switch (unrouted) {
    case message::Unrouted::kKeep: return 0;
    case message::Unrouted::kDead: return 1;
    case message::Unrouted::kDrop: return 2;
  }
  return 0;
}

}  // namespace

PostgresSplitStore::PostgresSplitStore(std::shared_ptr<const Address> address,
                                       message::TableName table, const SplitOptions& options)
    : address_(std::move(address)),
      table_(std::move(table)),
      options_(options),
      topic_regexes_(message::TopicPatternsToRegexes(options.filter.topics)),
      lock_key_(LockKey(table_)),
      due_(table_, queries::kSplitDue),
      candidates_(table_, queries::kSplitCandidates),
      add_(table_, queries::kSplitAddDeliveries),
      mark_(table_, queries::kSplitMark),
      unrouted_(table_, queries::kSplitUnrouted),
      complete_(table_, queries::kCompleteMessages),
      left_over_(table_, queries::kCompleteCandidates),
      waiting_(table_, queries::kWaitingDestinations),
      connection_(address_, Plans::kPinned) {}

Status PostgresSplitStore::Check(Deadline deadline) {
  return RequireTable(connection_, table_, kRelayAccess, deadline);
}

Result<SplitReport> PostgresSplitStore::Split(const message::Routes& routes, std::size_t limit,
                                              Deadline deadline) {
  OUTBOX_ASSIGN_OR_RETURN(const bool worth, WorthSplitting(deadline));
  if (!worth) return SplitReport{};
  OUTBOX_ASSIGN_OR_RETURN(const Rows candidates, Lock(limit, deadline));
  idle_ = candidates.size() == 0;
  auto report = Write(candidates, routes, deadline);
  if (!report.ok()) {
    // Closing ends the transaction, whatever state it is in.
    connection_.Close();
    floor_.Reset();
  }
  return report;
}

Result<bool> PostgresSplitStore::WorthSplitting(Deadline deadline) {
  if (!idle_) return true;
  Params params;
  AddFilter(params);
  OUTBOX_ASSIGN_OR_RETURN(const Rows rows, connection_.Execute(due_, params, deadline));
  return rows.Bool(0, 0);
}

void PostgresSplitStore::AddFilter(Params& params) const {
  params.TextOrNull(options_.filter.name_space);
  if (topic_regexes_.empty()) {
    params.Null();
  } else {
    params.TextArray(topic_regexes_);
  }
  params.UuidOrNull(options_.filter.tenant_id);
}

Result<Rows> PostgresSplitStore::Lock(std::size_t limit, Deadline deadline) {
  static const Statement kBegin("BEGIN");
  const ScanPosition start = floor_.Start(ScanFloor::Clock::now());
  Params params;
  params.Time(start.available_at).Int8(start.seq).Int8(static_cast<std::int64_t>(limit));
  AddFilter(params);
  params.Int8(lock_key_);
  const Params none;
  const std::array<Connection::Step, 2> steps{{{&kBegin, &none}, {&candidates_, &params}}};
  auto results = connection_.Pipeline(steps, deadline);
  if (!results.ok()) {
    floor_.Reset();
    return results.error();
  }
  Rows rows = std::move((*results)[1]);
  if (const int last = rows.size() - 1; last >= 0) {
    floor_.Advance({rows.Time(last, kAvailableAt), rows.Int8(last, kSeq)},
                   static_cast<std::size_t>(rows.size()) >= limit);
  }
  return rows;
}

Result<SplitReport> PostgresSplitStore::Write(const Rows& candidates, const message::Routes& routes,
                                              Deadline deadline) {
  static const Statement kCommit("COMMIT");
  const Plan plan = MakePlan(candidates, routes);
  const Params none;
  Params add;
  add.UuidArray(plan.ids).Int8Array(plan.seqs).TextArray(plan.destinations);
  add.TextArray(plan.order_keys).Int2Array(plan.order_waits);
  Params mark;
  mark.UuidArray(plan.routed);
  Params unrouted;
  unrouted.UuidArray(plan.unrouted).Int2(Number(options_.unrouted)).Bool(options_.keep_delivered);
  std::vector<Connection::Step> steps;
  if (!plan.routed.empty()) {
    steps.push_back({&add_, &add});
    steps.push_back({&mark_, &mark});
  }
  if (!plan.unrouted.empty()) steps.push_back({&unrouted_, &unrouted});
  steps.push_back({&kCommit, &none});
  OUTBOX_RETURN_IF_ERROR(connection_.Pipeline(steps, deadline, connection_.session()).error());
  return SplitReport{.messages = plan.routed.size() + plan.unrouted.size(),
                     .deliveries = plan.ids.size(),
                     .unrouted = plan.unrouted.size()};
}

Result<std::size_t> PostgresSplitStore::CompleteLeftOver(std::size_t limit, Deadline deadline) {
  Params look;
  look.Int8(static_cast<std::int64_t>(limit));
  OUTBOX_ASSIGN_OR_RETURN(const Rows found, connection_.Execute(left_over_, look, deadline));
  if (found.size() == 0) return std::size_t{0};
  std::vector<Uuid> ids;
  ids.reserve(static_cast<std::size_t>(found.size()));
  for (int row = 0; row < found.size(); ++row) ids.push_back(found.Id(row, 0));
  Params complete;
  complete.UuidArray(ids)
      .Bool(options_.completion == Completion::kAny)
      .Bool(options_.keep_delivered);
  OUTBOX_ASSIGN_OR_RETURN(const Rows done, connection_.Execute(complete_, complete, deadline));
  return static_cast<std::size_t>(done.Int8(0, 0));
}

Result<std::vector<std::string>> PostgresSplitStore::WaitingDestinations(Deadline deadline) {
  OUTBOX_ASSIGN_OR_RETURN(const Rows rows, connection_.Execute(waiting_, Params(), deadline));
  std::vector<std::string> destinations;
  destinations.reserve(static_cast<std::size_t>(rows.size()));
  for (int row = 0; row < rows.size(); ++row) destinations.emplace_back(rows.Text(row, 0));
  return destinations;
}

Result<std::unique_ptr<Watch>> PostgresSplitStore::WatchForWork(std::function<void()> on_work,
                                                                Deadline deadline) {
  return StartWorkWatch(address_, table_, std::move(on_work), deadline);
}

}  // namespace outbox::store::postgres
