#include "store/postgres/relay_store.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/random.h"
#include "base/text.h"
#include "message/validate.h"
#include "sql/postgres.h"
#include "store/postgres/classify_error.h"
#include "store/postgres/fnv.h"
#include "store/postgres/table_check.h"
#include "store/postgres/work_watch.h"

namespace outbox::store::postgres {
namespace {

using sql::postgres::kBuryExhausted;
using sql::postgres::kClaimDelivery;
using sql::postgres::kClaimDeliveryNoted;
using sql::postgres::kClaimLease;
using sql::postgres::kClaimLeaseNoted;
using sql::postgres::kClaimTransaction;
using sql::postgres::kDeliveriesDrained;
using sql::postgres::kDrained;
using sql::postgres::kFirstDue;
using std::chrono::milliseconds;

std::string_view ClaimLease(bool deliveries, AttemptHistory history) {
  if (history == AttemptHistory::kOff) return deliveries ? kClaimDelivery : kClaimLease;
  return deliveries ? kClaimDeliveryNoted : kClaimLeaseNoted;
}

// What is led by one relay at a time.
std::string LeaderName(const message::TableName& table, const std::string& destination) {
  return destination.empty() ? table.Display() : base::StrCat(table.Display(), "/", destination);
}

// Where there is an order: how many rows a claim looks at first, for each it asks for, and at most;
// and for how long it goes on while it meets only such as have to wait.
constexpr std::size_t kPageFactor = 2;
constexpr std::size_t kPageGrowth = 4;
constexpr std::size_t kPageMax = 20'000;
constexpr std::chrono::milliseconds kLookFor{200};
// Keys that it asks for, for each message it asks for: more than are settled meanwhile.
constexpr std::size_t kKeysFactor = 2;

// For how long a transaction claim may be idle. A relay says something at a third of its lease; the
// rest, and the margin, are for what may keep it from that: another claim that is being settled.
milliseconds IdleMax(milliseconds lease) {
  constexpr milliseconds kMargin = std::chrono::seconds(10);
  constexpr milliseconds kServerMax{std::numeric_limits<std::int32_t>::max()};
  return std::min(lease, kServerMax - kMargin) + kMargin;
}

std::string RandomHex() { return FnvHex(base::StrCat(base::RandomBits())).substr(0, 8); }

}  // namespace

PostgresRelayStore::PostgresRelayStore(std::shared_ptr<const Address> address,
                                       message::TableName table, const RelayStoreOptions& options)
    : address_(std::move(address)),
      table_(std::move(table)),
      table_display_(table_.Display()),
      relay_id_(options.relay_id),
      claim_mode_(options.claim_mode),
      filter_(options.filter),
      destination_(options.destination),
      topic_regexes_(message::TopicPatternsToRegexes(options.filter.topics)),
      claim_lease_(table_, ClaimLease(!destination_.empty(), options.attempt_history)),
      claim_transaction_(table_, kClaimTransaction),
      first_due_(table_, kFirstDue),
      bury_(table_, kBuryExhausted),
      drained_(table_, destination_.empty() ? kDrained : kDeliveriesDrained),
      claims_(address_, Plans::kPinned),
      settles_(std::make_shared<SettleLane>(address_, table_, options)),
      lanes_(std::make_shared<TransactionLanes>(address_, table_, options)),
      incarnation_(RandomHex()),
      leader_(claims_, settles_,
              {.name = LeaderName(table_, destination_),
               .token = base::StrCat(relay_id_, "/", incarnation_),
               .lease = options.lease}) {}

Status PostgresRelayStore::Check(Deadline deadline) {
  return RequireTable(claims_, table_, Access::kRelay, deadline);
}

RelayStoreTraits PostgresRelayStore::traits() const noexcept {
  if (claim_mode_ == ClaimMode::kLease) return {};
  return {.claims_max = TransactionLanes::kLanesMax, .leases = false, .expires = true};
}

std::string PostgresRelayStore::NewToken() {
  return base::StrCat(relay_id_, "/", incarnation_, "-", ++claims_made_);
}

void PostgresRelayStore::AddFilter(Params& params) const {
  params.TextOrNull(filter_.name_space);
  if (topic_regexes_.empty()) {
    params.Null();
  } else {
    params.TextArray(topic_regexes_);
  }
  params.UuidOrNull(filter_.tenant_id);
}

Result<std::unique_ptr<Claim>> PostgresRelayStore::Next(const ClaimRequest& request,
                                                        Deadline deadline) {
  if (leader_.Lapsed()) return Status::Retry(Code::kConflict, "the lead has ended");
  if (request.from_start) floor_.Reset();
  auto claim = claim_mode_ == ClaimMode::kLease ? NextLease(request, deadline)
                                                : NextTransaction(request, deadline);
  if (!claim.ok()) floor_.Reset();
  return claim;
}

Result<std::unique_ptr<Claim>> PostgresRelayStore::NextLease(const ClaimRequest& request,
                                                             Deadline deadline) {
  std::string token = NewToken();
  OUTBOX_ASSIGN_OR_RETURN(Found found, destination_.empty()
                                           ? ClaimMessages(request, token, deadline)
                                           : LookForDeliveries(request, token, deadline));
  return {std::make_unique<LeaseClaim>(settles_, std::move(token), found.claimed_at,
                                       std::move(found.messages), std::move(found.rows),
                                       found.any_in_doubt, std::move(found.exhausted))};
}

Result<Found> PostgresRelayStore::ClaimMessages(const ClaimRequest& request,
                                                const std::string& token, Deadline deadline) {
  OUTBOX_ASSIGN_OR_RETURN(Rows rows, LeaseWilling(request, token, deadline));
  Found found = ReadClaimed(std::move(rows), table_display_, destination_, 0);
  Advance(found, refused_.limit());
  return found;
}

Result<Rows> PostgresRelayStore::LeaseWilling(const ClaimRequest& request, const std::string& token,
                                              Deadline deadline) {
  ClaimRequest part = request;
  part.limit = refused_.Begin(request.limit);
  while (true) {
    Result<Rows> rows = Lease(part, token, deadline);
    if (rows.ok()) {
      refused_.OnClaimed();
      return rows;
    }
    if (!RefusesRow(rows.error()) || deadline.passed()) return rows;
    switch (refused_.OnRefused()) {
      case RefusedRows::Next::kFail: return rows;
      case RefusedRows::Next::kSmaller: part.limit = refused_.limit(); break;
      case RefusedRows::Next::kFindFirst: {
        const Status found = SetFirstAside(part, rows.error(), deadline);
        if (found.code() == Code::kNotFound) return rows;
        OUTBOX_RETURN_IF_ERROR(found);
        break;
      }
      case RefusedRows::Next::kStop: return Rows(nullptr);
    }
  }
}

Result<Rows> PostgresRelayStore::Lease(const ClaimRequest& request, const std::string& token,
                                       Deadline deadline) {
  Params params = LeaseParams(request, token);
  AddFilter(params);
  params.Bool(request.spare_expired);
  AddAside(params);
  return claims_.Execute(claim_lease_, params, deadline);
}

void PostgresRelayStore::AddAside(Params& params) const {
  const auto aside = refused_.Aside(RefusedRows::Clock::now());
  if (aside.empty()) {
    params.Null();
  } else {
    params.Int8Array(aside);
  }
}

Status PostgresRelayStore::SetFirstAside(const ClaimRequest& request, const Status& why,
                                         Deadline deadline) {
  const ScanPosition start = floor_.Start(ScanFloor::Clock::now());
  Params params;
  params.Time(start.available_at).Int8(start.seq);
  AddFilter(params);
  params.Bool(request.spare_expired);
  AddAside(params);
  OUTBOX_ASSIGN_OR_RETURN(const Rows first, claims_.Execute(first_due_, params, deadline));
  if (first.size() == 0) return Status::Permanent(Code::kNotFound, "nothing is due");
  const std::int64_t seq = first.Int8(0, 0);
  refused_.SetAside(seq, base::StrCat("message ", first.Id(0, 1).ToString(), " (seq ", seq, ")"),
                    why, RefusedRows::Clock::now());
  return Status::Ok();
}

Result<Found> PostgresRelayStore::LookForDeliveries(const ClaimRequest& request,
                                                    const std::string& token, Deadline deadline) {
  const Deadline enough = Deadline::After(kLookFor);
  while (true) {
    page_ = std::max(page_, kPageFactor * request.limit);
    OUTBOX_ASSIGN_OR_RETURN(Found found, ClaimDeliveries(request, token, deadline));
    const std::size_t claimed = found.rows.size() + found.exhausted.size();
    const bool more = found.looked && claimed < request.limit;
    page_ = more ? std::min(page_ * kPageGrowth, kPageMax) : 0;
    if (claimed > 0 || !more || enough.passed() || deadline.passed()) return found;
  }
}

Result<Found> PostgresRelayStore::ClaimDeliveries(const ClaimRequest& request,
                                                  const std::string& token, Deadline deadline) {
  const auto started = ScanFloor::Clock::now();
  Params params = LeaseParams(request, token);
  params.Text(destination_).Int8(static_cast<std::int64_t>(page_));
  // Half of a claim at most, so that other keys have their turn; of claims of one, every other.
  keys_turn_ = !keys_turn_;
  const std::size_t by_key = request.from_start ? 0 : (request.limit + (keys_turn_ ? 1 : 0)) / 2;
  const auto keys =
      by_key > 0 ? settles_->keys.Take(kKeysFactor * request.limit) : std::vector<std::string>();
  params.TextArray(keys).Int8(static_cast<std::int64_t>(by_key)).Bool(request.spare_expired);
  OUTBOX_ASSIGN_OR_RETURN(Rows rows, claims_.Execute(claim_lease_, params, deadline));
  Found found = ReadClaimed(std::move(rows), table_display_, destination_, 0);
  const bool full = found.rows.size() + found.exhausted.size() >= request.limit;
  if (found.looked && full) {
    floor_.Advance(*found.looked, true);
  } else if (found.looked) {
    floor_.StepOver(*found.looked, ScanFloor::Clock::now() - started);
  } else if (!full) {
    Advance(found, request.limit);
  }
  DecidedMessages decided;
  for (const Message& message : found.exhausted) decided.Add(message);
  for (std::string& key : found.exhausted_keys) settles_->keys.Add(std::move(key));
  settles_->Complete(claims_, decided, deadline);
  return found;
}

Params PostgresRelayStore::LeaseParams(const ClaimRequest& request, const std::string& token) {
  const ScanPosition start = floor_.Start(ScanFloor::Clock::now());
  Params params;
  params.Text(token).Int8(request.lease.count());
  params.Time(start.available_at).Int8(start.seq);
  params.Int8(static_cast<std::int64_t>(request.limit)).Int4(request.attempts_max);
  return params;
}

Result<std::unique_ptr<Claim>> PostgresRelayStore::NextTransaction(const ClaimRequest& request,
                                                                   Deadline deadline) {
  auto connection = lanes_->Take();
  if (connection == nullptr) {
    return Status::Retry(Code::kConflict, "all transaction claims are taken");
  }
  auto claim = LockRows(connection, request, deadline);
  if (connection != nullptr) lanes_->Return(std::move(connection));
  return claim;
}

// Takes `connection` when it succeeds.
Result<std::unique_ptr<Claim>> PostgresRelayStore::LockRows(std::unique_ptr<Connection>& connection,
                                                            const ClaimRequest& request,
                                                            Deadline deadline) {
  static const Statement& kBegin = *new Statement("BEGIN");
  const ScanPosition start = floor_.Start(ScanFloor::Clock::now());
  Params params;
  params.Time(start.available_at).Int8(start.seq);
  params.Int8(static_cast<std::int64_t>(request.limit)).Int4(request.attempts_max);
  AddFilter(params);
  params.Int8(IdleMax(request.lease).count());
  const Params none;
  const std::array<Connection::Step, 2> steps{{{&kBegin, &none}, {&claim_transaction_, &params}}};
  OUTBOX_ASSIGN_OR_RETURN(auto results, connection->Pipeline(steps, deadline));
  Found found = ReadClaimed(std::move(results[1]), table_display_, destination_, 1);
  if (found.rows.empty() || !found.exhausted.empty()) {
    OUTBOX_RETURN_IF_ERROR(EndTransaction(*connection, found, deadline));
    // What is not dead was let go with the transaction; the next scan must see it.
    if (!found.exhausted.empty()) floor_.Reset();
    found.messages =
        std::make_unique<ClaimedMessages>(Rows(nullptr), table_display_, destination_, 0);
    found.rows.clear();
  } else {
    Advance(found, request.limit);
  }
  return {std::make_unique<TransactionClaim>(lanes_, std::move(connection),
                                             std::move(found.messages), std::move(found.rows),
                                             found.any_in_doubt, std::move(found.exhausted))};
}

// Commits at once what has to be recorded whatever becomes of the claim.
Status PostgresRelayStore::EndTransaction(Connection& connection, const Found& found,
                                          Deadline deadline) {
  static const Statement& kCommit = *new Statement("COMMIT");
  Params cut_off;
  cut_off.TidArray(found.exhausted_tids).Text("");
  Params bury;
  bury.TidArray(found.exhausted_tids);
  const Params none;
  const std::array<Connection::Step, 3> steps{
      {{&lanes_->note_cut_off, &cut_off}, {&bury_, &bury}, {&kCommit, &none}}};
  const bool noted = lanes_->history != AttemptHistory::kOff;
  const auto written =
      connection.Pipeline(std::span(steps).subspan(noted ? 0 : 1), deadline, connection.session());
  if (!written.ok()) connection.Close();
  return written.error();
}

void PostgresRelayStore::Advance(const Found& found, std::size_t limit) {
  if (found.rows.empty()) return floor_.ReachEnd();
  floor_.Advance(found.last, found.rows.size() + found.exhausted.size() >= limit);
}

Result<bool> PostgresRelayStore::Drained(Deadline deadline) {
  Params params;
  if (destination_.empty()) {
    AddFilter(params);
  } else {
    params.Text(destination_);
  }
  OUTBOX_ASSIGN_OR_RETURN(const Rows rows, claims_.Execute(drained_, params, deadline));
  return rows.Bool(0, 0);
}

Result<std::unique_ptr<Watch>> PostgresRelayStore::WatchForWork(std::function<void()> on_work,
                                                                Deadline deadline) {
  return StartWorkWatch(address_, table_, std::move(on_work), deadline);
}

}  // namespace outbox::store::postgres
