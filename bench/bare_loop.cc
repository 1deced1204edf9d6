#include "bench/bare_loop.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "bench/pg_session.h"
#include "message/table_name.h"
#include "sql/postgres.h"
#include "store/postgres/rows.h"
#include "store/postgres/wire.h"
#include "store/scan_floor.h"

namespace outbox::bench {
namespace {

using message::TableName;
using std::chrono::steady_clock;
using store::ScanPosition;
using store::postgres::MessageColumns;
using store::postgres::Params;
using store::postgres::Tid;
namespace queries = ::outbox::sql::postgres;
namespace wire = store::postgres::wire;

constexpr char kToken[] = "bare-loop";
constexpr std::int64_t kLeaseMs = 60'000;
constexpr int kAttemptsMax = 20;
constexpr int kTidColumn = MessageColumns::kCount;

struct Batch {
  std::vector<Tid> tids;
  std::vector<std::int64_t> seqs;
};

// Reads what settling needs, and moves `floor` past the rows.
Batch ReadBatch(const PGresult* rows, ScanPosition& floor) {
  Batch batch;
  const int count = PQntuples(rows);
  batch.tids.reserve(static_cast<std::size_t>(count));
  batch.seqs.reserve(static_cast<std::size_t>(count));
  for (int row = 0; row < count; ++row) {
    const char* tid = PQgetvalue(rows, row, kTidColumn);
    const auto seq = wire::Get<std::int64_t>(PQgetvalue(rows, row, MessageColumns::kSeq));
    const auto available_at = wire::ToTimestamp(
        wire::Get<std::int64_t>(PQgetvalue(rows, row, MessageColumns::kAvailableAt)));
    batch.tids.push_back({wire::Get<std::uint32_t>(tid), wire::Get<std::uint16_t>(tid + 4)});
    batch.seqs.push_back(seq);
    if (std::tie(available_at, seq) > std::tie(floor.available_at, floor.seq)) {
      floor = {available_at, seq};
    }
  }
  // Nothing left after the floor: what is left, if anything, is before it.
  if (count == 0) floor = {};
  return batch;
}

// One connection with the statements of one drain plan prepared on it.
class Lane {
 public:
  static Result<Lane> Open(const Scratch& scratch, const DrainPlan& plan) {
    OUTBOX_ASSIGN_OR_RETURN(const TableName table, TableName::Parse(scratch.table(), "public"));
    OUTBOX_ASSIGN_OR_RETURN(PgSession session, PgSession::Open(scratch.address()));
    const bool lease = plan.mode == ClaimMode::kLease;
    const auto settle_lease =
        plan.keep ? queries::kSettleDeliveredKeep : queries::kSettleDeliveredDelete;
    OUTBOX_RETURN_IF_ERROR(session.Execute(queries::kPinPlans));
    OUTBOX_RETURN_IF_ERROR(session.Prepare(
        "claim", table.Render(lease ? queries::kClaimLease : queries::kClaimTransaction)));
    OUTBOX_RETURN_IF_ERROR(session.Prepare(
        "settle", table.Render(lease ? settle_lease : queries::kSettleTransaction)));
    return Lane(std::move(session), plan);
  }

  Result<Batch> Claim() {
    Params params;
    if (plan_.mode == ClaimMode::kLease) params.Text(kToken).Int8(kLeaseMs);
    params.Time(floor_.available_at).Int8(floor_.seq).Int8(static_cast<std::int64_t>(plan_.batch));
    params.Int4(kAttemptsMax).Null().Null().Null();
    if (plan_.mode == ClaimMode::kLease) params.Bool(false).Null();
    if (plan_.mode == ClaimMode::kTransaction) params.Int8(kLeaseMs);
    OUTBOX_ASSIGN_OR_RETURN(const PgResult rows, session_.RunBinary("claim", params));
    return ReadBatch(rows.get(), floor_);
  }

  Status Settle(const Batch& batch) {
    Params params;
    params.TidArray(batch.tids);
    if (plan_.mode == ClaimMode::kLease) {
      params.Int8Array(batch.seqs).Text(kToken);
    } else {
      const std::vector<std::int16_t> kinds(batch.tids.size(), 0);
      const std::vector<std::int64_t> delays(batch.tids.size(), 0);
      const std::vector<std::string> errors(batch.tids.size());
      params.Int2Array(kinds).Int8Array(delays).TextArray(errors);
      params.Bool(plan_.keep);
    }
    return session_.RunBinary("settle", params).error();
  }

  // Claims, settles; returns how many.
  Result<std::size_t> Turn() {
    const bool transaction = plan_.mode == ClaimMode::kTransaction;
    if (transaction) OUTBOX_RETURN_IF_ERROR(session_.Execute("BEGIN"));
    OUTBOX_ASSIGN_OR_RETURN(const Batch batch, Claim());
    if (!batch.tids.empty()) OUTBOX_RETURN_IF_ERROR(Settle(batch));
    if (transaction) OUTBOX_RETURN_IF_ERROR(session_.Execute("COMMIT"));
    return batch.tids.size();
  }

 private:
  Lane(PgSession session, const DrainPlan& plan) : session_(std::move(session)), plan_(plan) {}

  PgSession session_;
  DrainPlan plan_;
  ScanPosition floor_;
};

// Hands one batch at a time from the claiming thread to the settling one.
class Handover {
 public:
  void Put(Batch batch) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !batch_ || closed_; });
    batch_ = std::move(batch);
    changed_.notify_all();
  }
  // No value once closed and empty.
  std::optional<Batch> Take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return batch_ || closed_; });
    changed_.notify_all();
    return std::exchange(batch_, std::nullopt);
  }
  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Batch> batch_;
  bool closed_ = false;
};

Status RanDry() {
  return Status::Permanent(Code::kInternal,
                           "the bare loop found fewer messages than were filled in");
}

Status DrainOnOne(Lane& lane, std::size_t count) {
  for (std::size_t done = 0; done < count;) {
    OUTBOX_ASSIGN_OR_RETURN(const std::size_t settled, lane.Turn());
    if (settled == 0) return RanDry();
    done += settled;
  }
  return Status::Ok();
}

Status ClaimInto(Lane& lane, std::size_t count, Handover& handover) {
  for (std::size_t claimed = 0; claimed < count;) {
    OUTBOX_ASSIGN_OR_RETURN(Batch batch, lane.Claim());
    if (batch.tids.empty()) return RanDry();
    claimed += batch.tids.size();
    handover.Put(std::move(batch));
  }
  return Status::Ok();
}

Status DrainByLeaseOnTwo(Lane& claims, Lane& settles, std::size_t count) {
  Handover handover;
  Status settled;
  std::thread settler([&] {
    while (auto batch = handover.Take()) {
      if (settled = settles.Settle(*batch); !settled.ok()) break;
    }
    handover.Close();
  });
  const Status claimed = ClaimInto(claims, count, handover);
  handover.Close();
  settler.join();
  return claimed.ok() ? settled : claimed;
}

Status DrainByTransactionOnTwo(Lane& one, Lane& other, std::size_t count) {
  std::atomic<std::size_t> done = 0;
  const auto drain = [&](Lane& lane) -> Status {
    while (done < count) {
      OUTBOX_ASSIGN_OR_RETURN(const std::size_t settled, lane.Turn());
      done += settled;
    }
    return Status::Ok();
  };
  Status second;
  std::thread thread([&] { second = drain(other); });
  const Status first = drain(one);
  thread.join();
  return first.ok() ? second : first;
}

}  // namespace

Result<double> BareRate(const Scratch& scratch, const DrainPlan& plan, std::size_t count,
                        int connections) {
  const auto start = steady_clock::now();
  OUTBOX_ASSIGN_OR_RETURN(Lane one, Lane::Open(scratch, plan));
  if (connections == 1) {
    OUTBOX_RETURN_IF_ERROR(DrainOnOne(one, count));
  } else {
    OUTBOX_ASSIGN_OR_RETURN(Lane other, Lane::Open(scratch, plan));
    const bool lease = plan.mode == ClaimMode::kLease;
    OUTBOX_RETURN_IF_ERROR(lease ? DrainByLeaseOnTwo(one, other, count)
                                 : DrainByTransactionOnTwo(one, other, count));
  }
  const std::chrono::duration<double> took = steady_clock::now() - start;
  return static_cast<double>(count) / took.count();
}

}  // namespace outbox::bench
