#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/text.h"
#include "bench/pg_session.h"
#include "bench/scenario.h"
#include "bench_sql/postgres.h"
#include "message/table_name.h"
#include "store/backend.h"

namespace outbox::bench {
namespace {

using base::StrCat;
using message::TableName;
using std::chrono::steady_clock;

constexpr double kAgainstEmptyHistory = 1.2;
// Nobody waits for a page.
constexpr double kLookMillisecondsMax = 50;
constexpr std::size_t kLooks = 11;
constexpr char kHistoryTable[] = "bench_history_outbox";
constexpr std::size_t kClaims = 200;
constexpr std::size_t kBatch = 100;
constexpr std::size_t kChunk = 250'000;
constexpr std::size_t kFillers = 2;
constexpr std::chrono::seconds kCallTimeout{30};

Status FillChunk(PgSession& session, const std::string& sql, std::size_t first, std::size_t last,
                 std::size_t total) {
  const std::array params{std::to_string(first), std::to_string(last), std::to_string(total)};
  return session.Query(sql, params).error();
}

// Writes every kFillers-th chunk of the history, beginning with chunk number `filler`.
Status FillShare(const Run& run, const std::string& sql, std::size_t filler) {
  OUTBOX_ASSIGN_OR_RETURN(PgSession session, PgSession::Open(run.postgres()->address()));
  const std::size_t total = run.history_rows();
  for (std::size_t first = 1 + filler * kChunk; first <= total; first += kFillers * kChunk) {
    OUTBOX_RETURN_IF_ERROR(run.CheckInterrupted());
    const std::size_t last = std::min(total, first + kChunk - 1);
    OUTBOX_RETURN_IF_ERROR(FillChunk(session, sql, first, last, total));
  }
  return Status::Ok();
}

Status FillHistory(const Run& run, const TableName& table) {
  const std::string sql = table.Render(sql::postgres::kFillHistory);
  std::vector<Status> results(kFillers);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kFillers; ++i) {
    threads.emplace_back([&, i] { results[i] = FillShare(run, sql, i); });
  }
  for (std::thread& thread : threads) thread.join();
  for (Status& result : results) OUTBOX_RETURN_IF_ERROR(std::move(result));
  return Status::Ok();
}

// One of the two tables that are compared, and the relay's way into it.
class Side {
 public:
  static Result<std::unique_ptr<Side>> Open(const Scratch& scratch, const std::string& table) {
    OUTBOX_ASSIGN_OR_RETURN(const TableName name, TableName::Parse(table, "public"));
    OUTBOX_ASSIGN_OR_RETURN(auto backend, store::OpenBackend(scratch.address()));
    OUTBOX_ASSIGN_OR_RETURN(auto relay, backend->OpenRelay({.table = table, .relay_id = "bench"},
                                                           Deadline::After(kCallTimeout)));
    return std::unique_ptr<Side>(
        new Side(scratch.address(), name, std::move(backend), std::move(relay)));
  }

  Status AddWaiting() {
    OUTBOX_ASSIGN_OR_RETURN(PgSession session, PgSession::Open(address_));
    const std::string count = std::to_string(kClaims * kBatch);
    OUTBOX_RETURN_IF_ERROR(
        session.Query(name_.Render(sql::postgres::kFill), std::span(&count, 1)).error());
    return session.Execute(name_.Render(sql::postgres::kVacuum));
  }

  Status RemoveWaiting() {
    OUTBOX_ASSIGN_OR_RETURN(PgSession session, PgSession::Open(address_));
    return session.Execute(name_.Render(sql::postgres::kDeleteFilled));
  }

  // Claims and settles one batch; returns the claim's milliseconds.
  Result<double> ClaimOnce() {
    const auto start = steady_clock::now();
    OUTBOX_ASSIGN_OR_RETURN(const auto claim,
                            relay_->Next({.limit = kBatch, .lease = std::chrono::minutes(1)},
                                         Deadline::After(kCallTimeout)));
    const std::chrono::duration<double, std::milli> took = steady_clock::now() - start;
    if (claim->messages().size() != kBatch) {
      return Status::Permanent(Code::kInternal, "a claim came back short");
    }
    std::vector<store::Outcome> outcomes(kBatch);
    for (std::uint32_t i = 0; i < kBatch; ++i) {
      outcomes[i] = {.index = i, .kind = store::Outcome::Kind::kDelivered};
    }
    OUTBOX_RETURN_IF_ERROR(claim->Settle(outcomes, Deadline::After(kCallTimeout)).error());
    return took.count();
  }

 private:
  Side(std::string address, TableName name, std::unique_ptr<store::Backend> backend,
       std::unique_ptr<store::RelayStore> relay)
      : address_(std::move(address)),
        name_(std::move(name)),
        backend_(std::move(backend)),
        relay_(std::move(relay)) {}

  const std::string address_;
  const TableName name_;
  const std::unique_ptr<store::Backend> backend_;
  const std::unique_ptr<store::RelayStore> relay_;
};

// One round: the median claim of each side, taken in turn.
Status Compare(Side& full, Side& empty, Figure& figure) {
  std::vector<double> with_history, without;
  for (Side* side : {&full, &empty}) OUTBOX_RETURN_IF_ERROR(side->AddWaiting());
  for (std::size_t i = 0; i < kClaims; ++i) {
    OUTBOX_ASSIGN_OR_RETURN(const double slow, full.ClaimOnce());
    OUTBOX_ASSIGN_OR_RETURN(const double fast, empty.ClaimOnce());
    with_history.push_back(slow);
    without.push_back(fast);
  }
  for (Side* side : {&full, &empty}) OUTBOX_RETURN_IF_ERROR(side->RemoveWaiting());
  figure.rounds.push_back(Summarise(std::move(with_history)).median);
  figure.baseline.push_back(Summarise(std::move(without)).median);
  return Status::Ok();
}

// What an operator asks for, on the same table.
Status MeasureLooking(Run& run, const Scratch& scratch, const std::string& rows) {
  OUTBOX_ASSIGN_OR_RETURN(const auto backend, store::OpenBackend(scratch.address()));
  OUTBOX_ASSIGN_OR_RETURN(const auto inspect,
                          backend->OpenInspect(kHistoryTable, Deadline::After(kCallTimeout)));
  struct Look {
    std::string_view what;
    std::function<Status()> ask;
  };
  const auto list = [&](store::ListFilter filter) {
    return inspect->List(store::Scope::All(), filter, Deadline::After(kCallTimeout)).error();
  };
  const std::array<Look, 4> looks{
      {{"list", [&] { return list({}); }},
       {"list, delivered", [&] { return list({.status = store::ListStatus::kDelivered}); }},
       {"list, delivered of a topic",
        [&] {
          return list(
              {.status = store::ListStatus::kDelivered, .topic = "orders.order.created.v1"});
        }},
       {"stats", [&] {
          return inspect->Stats(store::Scope::All(), false, Deadline::After(kCallTimeout)).error();
        }}}};
  for (const Look& look : looks) {
    Figure figure{.scenario = "looking at a long history",
                  .store = std::string(scratch.store()),
                  .what = StrCat(look.what, ", ", rows, " delivered"),
                  .unit = "ms",
                  .bar = Bar::AtMost(kLookMillisecondsMax)};
    for (std::size_t i = 0; i < kLooks; ++i) {
      const auto start = steady_clock::now();
      OUTBOX_RETURN_IF_ERROR(look.ask());
      const std::chrono::duration<double, std::milli> took = steady_clock::now() - start;
      figure.rounds.push_back(took.count());
    }
    run.Add(std::move(figure));
  }
  return Status::Ok();
}

}  // namespace

Status LongHistory(Run& run) {
  Scratch* const scratch = run.postgres();
  if (scratch == nullptr) return Status::Ok();
  OUTBOX_RETURN_IF_ERROR(scratch->Fill(0));
  OUTBOX_RETURN_IF_ERROR(scratch->Migrate(kHistoryTable));
  OUTBOX_ASSIGN_OR_RETURN(const TableName name, TableName::Parse(kHistoryTable, "public"));
  const std::string rows = FormatNumber(static_cast<double>(run.history_rows()));
  run.Progress(StrCat("history: writing ", rows, " delivered messages"));
  OUTBOX_RETURN_IF_ERROR(FillHistory(run, name));
  OUTBOX_ASSIGN_OR_RETURN(const auto full, Side::Open(*scratch, kHistoryTable));
  OUTBOX_ASSIGN_OR_RETURN(const auto empty, Side::Open(*scratch, scratch->table()));

  Figure figure{.scenario = "claim with a long history",
                .store = std::string(scratch->store()),
                .what = StrCat("batch ", kBatch, ", ", rows, " delivered"),
                .unit = "ms",
                .against = "empty history",
                .bar = Bar::AtMost(kAgainstEmptyHistory)};
  for (int round = 0; round < run.rounds(); ++round) {
    OUTBOX_RETURN_IF_ERROR(run.CheckInterrupted());
    OUTBOX_RETURN_IF_ERROR(Compare(*full, *empty, figure));
    run.Progress(StrCat("history: claim ", FormatNumber(figure.rounds.back()), " ms, empty ",
                        FormatNumber(figure.baseline.back()), " ms"));
  }
  run.Add(std::move(figure));
  return MeasureLooking(run, *scratch, rows);
}

}  // namespace outbox::bench
