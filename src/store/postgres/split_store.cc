#include "store/postgres/split_store.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/check.h"
#include "base/random.h"
#include "base/text.h"
#include "message/validate.h"
#include "sql/postgres.h"
#include "store/lane_rooms.h"
#include "store/postgres/fnv.h"
#include "store/postgres/table_check.h"
#include "store/postgres/work_watch.h"

namespace outbox::store::postgres {
namespace {

namespace queries = sql::postgres;

// The columns of split_candidates.sql.
enum Column : int {
  kId,
  kSeq,
  kTopic,
  kKey,
  kAvailableAt,
  kAddress,
  kAttempts,
  kExpired,
  kLastError,
  kInDoubt,
  kSplitBefore,
};

std::string TurnName(const message::TableName& table) {
  return base::StrCat("split ", table.Display());
}

std::int16_t Number(message::Unrouted unrouted) {
  switch (unrouted) {
    case message::Unrouted::kKeep: return 0;
    case message::Unrouted::kDead: return 1;
    case message::Unrouted::kDrop: return 2;
  }
  return 0;
}

bool AnyFromStart(const SplitRequest& request) {
  return std::ranges::any_of(request.lanes,
                             [](const LaneRequest& lane) { return lane.claim.from_start; });
}

// With an order also for the sake of what is committed late: it must not be overtaken.
bool MustScanFromStart(const message::Routes& routes, const SplitRequest& request) {
  return std::ranges::any_of(routes.routes(), &message::Route::ordered) || AnyFromStart(request);
}

}  // namespace

struct SplitPlan {
  SplitPlan(const Rows& candidates, const message::Routes& routes,
            std::span<const LaneRequest> lanes);

  // The parameters of split_add_deliveries.sql.
  Params Deliveries() const;

  // The deliveries to be added, and the messages they come of.
  std::vector<Uuid> ids;
  std::vector<std::int64_t> seqs;
  std::vector<std::string> destinations;
  std::vector<std::string> order_keys;
  std::vector<std::int16_t> order_waits;
  std::vector<std::int64_t> attempts;
  std::vector<std::string> last_errors;
  std::vector<std::int16_t> in_doubt;
  std::vector<Uuid> routed;

  std::vector<Uuid> unrouted;
  std::vector<std::vector<Tid>> leased;  // by lane of the request
  // Whose lease had expired, of all of these, by the destination that they were leased for: the
  // only one they have. Empty where routes have changed since and that is not known.
  std::map<std::string, std::vector<Tid>> cut_off;
  std::size_t left_alone = 0;
  int first_left_alone = -1;  // a candidate's row

 private:
  void AddDeliveries(const Rows& candidates, int row,
                     std::span<const message::Routes::Target> targets);
};

SplitPlan::SplitPlan(const Rows& candidates, const message::Routes& routes,
                     std::span<const LaneRequest> lanes)
    : leased(lanes.size()) {
  using Way = LaneRooms::Way;
  LaneRooms rooms(lanes);
  for (int row = 0; row < candidates.size(); ++row) {
    const auto targets = routes.For(candidates.Text(row, kTopic));
    const auto [way, lane] =
        rooms.Decide(targets, candidates.Text(row, kKey), candidates.Bool(row, kSplitBefore));
    const Tid address = candidates.TidAt(row, kAddress);
    switch (way) {
      case Way::kUnrouted: unrouted.push_back(candidates.Id(row, kId)); break;
      case Way::kDeliveries: AddDeliveries(candidates, row, targets); break;
      case Way::kLane: leased[lane].push_back(address); break;
      case Way::kWait:
        if (left_alone++ == 0) first_left_alone = row;
        continue;
    }
    if (!candidates.Bool(row, kExpired)) continue;
    cut_off[targets.size() == 1 ? std::string(targets.front().destination) : ""].push_back(address);
  }
}

void SplitPlan::AddDeliveries(const Rows& candidates, int row,
                              std::span<const message::Routes::Target> targets) {
  const Uuid id = candidates.Id(row, kId);
  routed.push_back(id);
  // Attempts made in the message's own row were for its only destination.
  const bool tried = targets.size() == 1 && candidates.Int4(row, kAttempts) > 0;
  for (const message::Routes::Target& target : targets) {
    ids.push_back(id);
    seqs.push_back(candidates.Int8(row, kSeq));
    destinations.emplace_back(target.destination);
    order_keys.emplace_back(target.ordered ? candidates.Text(row, kKey) : "");
    order_waits.push_back(target.waits_for_dead ? 1 : 0);
    attempts.push_back(tried ? candidates.Int4(row, kAttempts) : 0);
    last_errors.emplace_back(tried ? candidates.Text(row, kLastError) : "");
    in_doubt.push_back(tried && candidates.Bool(row, kInDoubt) ? 1 : 0);
  }
}

Params SplitPlan::Deliveries() const {
  Params params;
  params.UuidArray(ids).Int8Array(seqs).TextArray(destinations).TextArray(order_keys);
  params.Int2Array(order_waits).Int8Array(attempts).TextArray(last_errors).Int2Array(in_doubt);
  return params;
}

PostgresSplitStore::PostgresSplitStore(std::shared_ptr<const Address> address,
                                       message::TableName table, const SplitOptions& options)
    : address_(std::move(address)),
      table_(std::move(table)),
      options_(options),
      topic_regexes_(message::TopicPatternsToRegexes(options.filter.topics)),
      turn_(TurnName(table_)),
      due_(table_, queries::kSplitDue),
      candidates_(table_, queries::kSplitCandidates),
      lease_(table_, queries::kSplitLease),
      note_cut_off_(table_, queries::kNoteCutOff),
      add_(table_, queries::kSplitAddDeliveries),
      mark_(table_, queries::kSplitMark),
      unrouted_(table_, queries::kSplitUnrouted),
      complete_(table_, queries::kCompleteMessages),
      left_over_(table_, queries::kCompleteCandidates),
      waiting_(table_, queries::kWaitingDestinations),
      connection_(address_, Plans::kPinned) {
  for (const RelayStoreOptions& relay : options.lanes) {
    lanes_.push_back(
        {.options = relay,
         .settles = std::make_shared<SettleLane>(address_, table_, relay, LeasedRows::kMessages),
         .token_prefix = base::StrCat(relay.relay_id, "/",
                                      FnvHex(base::StrCat(base::RandomBits())).substr(0, 8), "-")});
  }
}

Status PostgresSplitStore::Check(Deadline deadline) {
  return RequireTable(connection_, table_, Access::kRelay, deadline);
}

Result<SplitReport> PostgresSplitStore::Split(const message::Routes& routes,
                                              const SplitRequest& request, Deadline deadline) {
  if (AnyFromStart(request)) due_floor_.Reset();
  OUTBOX_ASSIGN_OR_RETURN(const bool worth, WorthSplitting(deadline));
  if (!worth) return SplitReport{};
  if (MustScanFromStart(routes, request)) floor_.Reset();
  OUTBOX_ASSIGN_OR_RETURN(const Rows candidates, Lock(request, deadline));
  idle_ = candidates.size() == 0;
  const SplitPlan plan(candidates, routes, request.lanes);
  Advance(candidates, plan, request.limit);
  auto report = Write(candidates, plan, request, deadline);
  if (!report.ok()) {
    // Closing ends the transaction, whatever state it is in.
    connection_.Close();
    floor_.Reset();
  }
  return report;
}

Result<bool> PostgresSplitStore::WorthSplitting(Deadline deadline) {
  if (!idle_) return true;
  const auto started = ScanFloor::Clock::now();
  const ScanPosition start = due_floor_.Start(started);
  Params params;
  AddFilter(params);
  params.Time(start.available_at).Int8(start.seq);
  OUTBOX_ASSIGN_OR_RETURN(const Rows rows, connection_.Execute(due_, params, deadline));
  const bool due = rows.Bool(0, 0);
  if (due) return true;
  const ScanPosition looked{rows.Time(0, 1) - ScanFloor::kLateCommits, 0};
  if (start.available_at == Timestamp::min()) {
    due_floor_.StepOver(looked, ScanFloor::Clock::now() - started);
  } else {
    due_floor_.Advance(looked, true);
  }
  return false;
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

Result<Rows> PostgresSplitStore::Lock(const SplitRequest& request, Deadline deadline) {
  static const Statement& kBegin = *new Statement("BEGIN");
  const ScanPosition start = floor_.Start(ScanFloor::Clock::now());
  Params params;
  params.Time(start.available_at).Int8(start.seq).Int8(static_cast<std::int64_t>(request.limit));
  AddFilter(params);
  params.Text(turn_).Bool(request.spare_expired);
  const Params none;
  OUTBOX_RETURN_IF_ERROR(MakeTurn(deadline));
  const std::array<Connection::Step, 2> steps{{{&kBegin, &none}, {&candidates_, &params}}};
  auto results = connection_.Pipeline(steps, deadline);
  if (!results.ok()) {
    floor_.Reset();
    return results.error();
  }
  if ((*results)[1].size() == 0) turn_made_ = false;
  return std::move((*results)[1]);
}

// Committed by itself: whoever stands still while it splits shall lock a row that the others can
// see.
Status PostgresSplitStore::MakeTurn(Deadline deadline) {
  static const Statement& kTurn = *new Statement(queries::kSplitTurn);
  if (turn_made_) return Status::Ok();
  Params params;
  params.Text(turn_);
  const Status made = connection_.Execute(kTurn, params, deadline).error();
  turn_made_ = made.ok();
  return made;
}

// What was left alone is to be found again.
void PostgresSplitStore::Advance(const Rows& candidates, const SplitPlan& plan, std::size_t limit) {
  const int last = (plan.left_alone > 0 ? plan.first_left_alone : candidates.size()) - 1;
  if (last < 0) return;
  floor_.Advance({candidates.Time(last, kAvailableAt), candidates.Int8(last, kSeq)},
                 static_cast<std::size_t>(candidates.size()) >= limit);
}

PostgresSplitStore::Lease PostgresSplitStore::MakeLease(const LaneRequest& request,
                                                        const std::vector<Tid>& tids) {
  const auto lane = std::ranges::find_if(
      lanes_, [&](const Lane& known) { return known.options.destination == request.destination; });
  OUTBOX_CHECK(lane != lanes_.end());
  Lease lease{.lane = &*lane, .token = base::StrCat(lane->token_prefix, ++lane->claims_made)};
  lease.params.Text(lease.token).Int8(request.claim.lease.count());
  lease.params.Int4(request.claim.attempts_max).TidArray(tids);
  return lease;
}

std::unique_ptr<Claim> PostgresSplitStore::MakeClaim(Lease lease, Rows rows) const {
  Found found = ReadClaimed(std::move(rows), table_.Display(), lease.lane->options.destination, 0);
  return std::make_unique<LeaseClaim>(lease.lane->settles, std::move(lease.token), found.claimed_at,
                                      std::move(found.messages), std::move(found.rows),
                                      found.any_in_doubt, std::move(found.exhausted));
}

Result<SplitReport> PostgresSplitStore::Write(const Rows& candidates, const SplitPlan& plan,
                                              const SplitRequest& request, Deadline deadline) {
  static const Statement& kCommit = *new Statement("COMMIT");
  const Params none;
  std::vector<Params> cut_off;
  if (options_.attempt_history != AttemptHistory::kOff) {
    for (const auto& [destination, tids] : plan.cut_off) {
      cut_off.emplace_back().TidArray(tids).Text(destination);
    }
  }
  const Params add = plan.Deliveries();
  Params mark;
  mark.UuidArray(plan.routed);
  Params unrouted;
  unrouted.UuidArray(plan.unrouted).Int2(Number(options_.unrouted)).Bool(options_.keep_delivered);
  std::vector<Lease> leases;
  for (std::size_t lane = 0; lane < plan.leased.size(); ++lane) {
    if (plan.leased[lane].empty()) continue;
    leases.push_back(MakeLease(request.lanes[lane], plan.leased[lane]));
  }

  std::vector<Connection::Step> steps;
  steps.reserve(cut_off.size() + leases.size() + 4);
  for (const Params& params : cut_off) steps.push_back({&note_cut_off_, &params});
  for (Lease& lease : leases) {
    lease.step = steps.size();
    steps.push_back({&lease_, &lease.params});
  }
  if (!plan.routed.empty()) {
    steps.push_back({&add_, &add});
    steps.push_back({&mark_, &mark});
  }
  if (!plan.unrouted.empty()) steps.push_back({&unrouted_, &unrouted});
  steps.push_back({&kCommit, &none});
  OUTBOX_ASSIGN_OR_RETURN(auto results,
                          connection_.Pipeline(steps, deadline, connection_.session()));
  SplitReport report{.found = static_cast<std::size_t>(candidates.size()),
                     .messages = plan.routed.size() + plan.unrouted.size(),
                     .deliveries = plan.ids.size(),
                     .unrouted = plan.unrouted.size(),
                     .left_alone = plan.left_alone};
  for (Lease& lease : leases) {
    const std::string& destination = lease.lane->options.destination;
    Rows rows = std::move(results[lease.step]);
    report.claims.push_back({destination, MakeClaim(std::move(lease), std::move(rows))});
  }
  return report;
}

Result<LeftOverReport> PostgresSplitStore::CompleteLeftOver(std::int64_t after_seq,
                                                            std::size_t limit, Deadline deadline) {
  const bool any = options_.completion == Completion::kAny;
  Params look;
  look.Int8(after_seq).Int8(static_cast<std::int64_t>(limit)).Bool(any && options_.keep_delivered);
  OUTBOX_ASSIGN_OR_RETURN(const Rows found, connection_.Execute(left_over_, look, deadline));
  LeftOverReport report{.looked_at = static_cast<std::size_t>(found.size())};
  if (found.size() == 0) return report;
  report.last_seq = found.Int8(found.size() - 1, 1);
  std::vector<Uuid> ids;
  for (int row = 0; row < found.size(); ++row) {
    if (found.Bool(row, 2)) ids.push_back(found.Id(row, 0));
  }
  if (ids.empty()) return report;
  Params complete;
  complete.UuidArray(ids).Bool(any).Bool(options_.keep_delivered);
  complete.Int4(static_cast<int>(options_.last_error_bytes_max));
  OUTBOX_ASSIGN_OR_RETURN(const Rows done, connection_.Execute(complete_, complete, deadline));
  report.completed = static_cast<std::size_t>(done.Int8(0, 0));
  return report;
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
