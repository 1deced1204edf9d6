#include <chrono>
#include <span>
#include <vector>

#include "bench/bare_loop.h"
#include "message/table_name.h"
#include "sql/sqlite.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/table.h"

namespace outbox::bench {
namespace {

using std::chrono::steady_clock;
using store::sqlite::Connection;
using store::sqlite::OpenMode;
using store::sqlite::Query;
namespace queries = ::outbox::sql::sqlite;

constexpr std::string_view kToken = "bare-loop";
constexpr std::int64_t kLeaseMs = 60'000;
constexpr std::chrono::minutes kTimeout{5};

// claim.sql names the function; without topic patterns it is never called.
Status RegisterTopicFunction(Connection& connection) {
  const int code = sqlite3_create_function_v2(
      connection.handle(), "outbox_topic_wanted", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nullptr,
      [](sqlite3_context* context, int, sqlite3_value**) { sqlite3_result_int(context, 1); },
      nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? Status::Ok() : connection.LastError();
}

Result<std::vector<std::int64_t>> Claim(Connection& connection, std::string_view sql,
                                        std::size_t limit) {
  OUTBOX_ASSIGN_OR_RETURN(Query query, connection.Prepare(sql));
  query.Bind(1, kToken)
      .Bind(2, kLeaseMs)
      .Bind(3, static_cast<std::int64_t>(limit))
      .Bind(6, std::int64_t{0});
  std::vector<std::int64_t> seqs;
  while (true) {
    OUTBOX_ASSIGN_OR_RETURN(const bool found, query.Step());
    if (!found) return seqs;
    seqs.push_back(query.Int(0));
  }
}

Status Settle(Connection& connection, std::string_view sql, std::span<const std::int64_t> seqs) {
  OUTBOX_ASSIGN_OR_RETURN(Query query, connection.Prepare(sql));
  for (const std::int64_t seq : seqs) {
    OUTBOX_RETURN_IF_ERROR(query.Bind(1, seq).Bind(2, kToken).Run().error());
    query.Reset();
  }
  return Status::Ok();
}

}  // namespace

Result<double> BareRateSqlite(const Scratch& scratch, const DrainPlan& plan, std::size_t count) {
  OUTBOX_ASSIGN_OR_RETURN(const auto table, store::sqlite::ParseTable(scratch.table()));
  const std::string claim = store::sqlite::Render(table, queries::kClaim);
  const std::string settle =
      store::sqlite::Render(table, plan.keep ? queries::kSettleKept : queries::kSettleDeleted);
  const std::string path = scratch.address().substr(std::string_view("sqlite:").size());

  const auto start = steady_clock::now();
  OUTBOX_ASSIGN_OR_RETURN(const auto connection,
                          Connection::Open(path, OpenMode::kExisting, Deadline::After(kTimeout)));
  connection->set_deadline(Deadline::After(kTimeout));
  OUTBOX_RETURN_IF_ERROR(RegisterTopicFunction(*connection));
  for (std::size_t done = 0; done < count;) {
    OUTBOX_RETURN_IF_ERROR(connection->Begin());
    OUTBOX_ASSIGN_OR_RETURN(const auto seqs, Claim(*connection, claim, plan.batch));
    if (plan.mode == ClaimMode::kLease) {
      OUTBOX_RETURN_IF_ERROR(connection->Commit());
      OUTBOX_RETURN_IF_ERROR(connection->Begin());
    }
    OUTBOX_RETURN_IF_ERROR(Settle(*connection, settle, seqs));
    OUTBOX_RETURN_IF_ERROR(connection->Commit());
    if (seqs.empty()) {
      return Status::Permanent(Code::kInternal,
                               "the bare loop found fewer messages than were filled in");
    }
    done += seqs.size();
  }
  const std::chrono::duration<double> took = steady_clock::now() - start;
  return static_cast<double>(count) / took.count();
}

}  // namespace outbox::bench
