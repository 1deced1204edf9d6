#include "enqueue/prepared_statements.h"

#include <cstdint>
#include <cstdlib>
#include <new>
#include <string_view>

#include "base/handle.h"
#include "base/text.h"
#include "sql/postgres.h"

namespace outbox::enqueue {
namespace {

using ResultHandle = base::UniqueHandle<PGresult, PQclear>;

// A connection that enqueues once or twice is not worth the extra round trips.
constexpr std::size_t kUsesBeforePreparing = 2;
// One per table and kind of enqueue; more than any application has.
constexpr std::size_t kStatementsMax = 64;

// True for the answer to a command that took prepared statements away, and for the complaint about
// one that is gone.
bool TellsOfLoss(const PGresult* result) {
  const std::string_view done = PQcmdStatus(const_cast<PGresult*>(result));
  if (done == "DISCARD ALL" || done == "DEALLOCATE ALL") return true;
  const char* const state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  return state != nullptr && std::string_view(state) == "26000";
}

}  // namespace

PreparedStatements* PreparedStatements::Of(PGconn* connection) {
  if (PQinstanceData(connection, OnEvent) == nullptr) {
    PQregisterEventProc(connection, OnEvent, "outbox", nullptr);
  }
  return static_cast<PreparedStatements*>(PQinstanceData(connection, OnEvent));
}

int PreparedStatements::OnEvent(PGEventId event, void* info, void*) noexcept {
  switch (event) {
    case PGEVT_REGISTER: {
      PGconn* const connection = static_cast<PGEventRegister*>(info)->conn;
      return PQsetInstanceData(connection, OnEvent,
                               new (std::nothrow) PreparedStatements(connection));
    }
    case PGEVT_CONNRESET: {
      auto* const statements = static_cast<PreparedStatements*>(
          PQinstanceData(static_cast<PGEventConnReset*>(info)->conn, OnEvent));
      if (statements != nullptr) {
        statements->Forget();
        statements->asked_ = false;
      }
      break;
    }
    case PGEVT_RESULTCREATE: {
      const auto* const created = static_cast<PGEventResultCreate*>(info);
      auto* const statements =
          static_cast<PreparedStatements*>(PQinstanceData(created->conn, OnEvent));
      if (statements != nullptr && TellsOfLoss(created->result)) statements->Forget();
      break;
    }
    case PGEVT_CONNDESTROY:
      delete static_cast<PreparedStatements*>(
          PQinstanceData(static_cast<PGEventConnDestroy*>(info)->conn, OnEvent));
      break;
    case PGEVT_RESULTCOPY:
    case PGEVT_RESULTDESTROY: break;
  }
  return 1;
}

const char* PreparedStatements::Use(const std::string& sql, PGresult*& failure) {
  if (statements_.size() >= kStatementsMax && !statements_.contains(sql)) return nullptr;
  Statement& statement = statements_[sql];
  if (!statement.name.empty()) return statement.name.c_str();
  if (++statement.uses <= kUsesBeforePreparing || !Direct()) return nullptr;

  // Unique on this connection also if a second copy of the library is in the process.
  std::string name =
      base::StrCat("outbox_", reinterpret_cast<std::uintptr_t>(this), "_", ++prepared_);
  ResultHandle result(PQprepare(connection_, name.c_str(), sql.c_str(), 0, nullptr));
  if (result == nullptr || PQresultStatus(result.get()) != PGRES_COMMAND_OK) {
    failure = result.release();
    return nullptr;
  }
  statement.name = std::move(name);
  return statement.name.c_str();
}

bool PreparedStatements::Direct() {
  if (asked_) return direct_;
  asked_ = true;
  const std::string sql(sql::postgres::kBackendPid);
  const ResultHandle result(PQexec(connection_, sql.c_str()));
  direct_ = result != nullptr && PQntuples(result.get()) == 1 &&
            std::atoi(PQgetvalue(result.get(), 0, 0)) == PQbackendPID(connection_);
  return direct_;
}

}  // namespace outbox::enqueue
