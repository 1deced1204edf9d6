#include "store/sqlite/repair_query.h"

#include <chrono>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "sql/sqlite.h"
#include "store/sqlite/control_store.h"
#include "store/sqlite/table.h"

namespace outbox::store::sqlite {
namespace {

constexpr std::int64_t kDeadAt = std::numeric_limits<std::int64_t>::max();

std::string ToJsonArray(const std::vector<Uuid>& ids) {
  std::vector<std::string> quoted;
  quoted.reserve(ids.size());
  for (const Uuid& id : ids) quoted.push_back(base::StrCat("\"", id.ToString(), "\""));
  return base::StrCat("[", base::Join(quoted, ","), "]");
}

std::string TenantText(const Scope& scope) {
  return scope.tenant() ? scope.tenant()->ToString() : std::string();
}

void BindUnlessEmpty(Query& query, int parameter, const std::string& text) {
  if (!text.empty()) query.Bind(parameter, text);
}

void BindTime(Query& query, int parameter, const std::optional<Timestamp>& at) {
  if (!at) return;
  query.Bind(parameter,
             std::chrono::ceil<std::chrono::milliseconds>(*at).time_since_epoch().count());
}

Result<std::vector<std::int64_t>> ReadSeqs(Query& query) {
  std::vector<std::int64_t> rows;
  while (true) {
    OUTBOX_ASSIGN_OR_RETURN(const bool found, query.Step());
    if (!found) return rows;
    rows.push_back(query.Int(0));
  }
}

Result<std::vector<std::int64_t>> TargetIds(Connection& connection, const message::TableName& table,
                                            const RepairMany& repair) {
  const std::string ids = ToJsonArray(repair.target.ids);
  const std::string tenant = TenantText(repair.scope);
  OUTBOX_ASSIGN_OR_RETURN(Query query, connection.Prepare(Render(table, sql::sqlite::kTargetIds)));
  query.Bind(1, ids).Bind(2, repair.kind == RepairKind::kDelete ? 1 : 0);
  query.Bind(3, static_cast<std::int64_t>(repair.limit));
  BindUnlessEmpty(query, 4, tenant);
  return ReadSeqs(query);
}

// What the filter's statements have in common: ?4 to ?9.
void BindFilter(Query& query, const RepairFilter& filter, const std::string& tenant,
                std::size_t limit) {
  BindUnlessEmpty(query, 4, tenant);
  BindUnlessEmpty(query, 5, filter.topic);
  BindTime(query, 6, filter.created_from);
  BindTime(query, 7, filter.created_until);
  BindUnlessEmpty(query, 8, filter.error_contains);
  query.Bind(9, static_cast<std::int64_t>(limit));
}

Result<std::vector<std::int64_t>> TargetFiltered(Connection& connection,
                                                 const message::TableName& table,
                                                 const RepairMany& repair) {
  const RepairFilter& filter = *repair.target.filter;
  const bool dead = filter.status == ListStatus::kDead;
  const std::string tenant = TenantText(repair.scope);
  OUTBOX_ASSIGN_OR_RETURN(
      Query query, connection.Prepare(Render(table, tenant.empty() ? sql::sqlite::kTargetFiltered
                                                                   : sql::sqlite::kTargetTenant)));
  query.Bind(1, std::string_view(dead ? "dead" : "pending"));
  query.Bind(10, repair.kind == RepairKind::kDelete ? 1 : 0);
  if (tenant.empty()) {
    query.Bind(2, dead ? kDeadAt : std::numeric_limits<std::int64_t>::min());
    query.Bind(3, dead ? kDeadAt : kDeadAt - 1);
  }
  BindFilter(query, filter, tenant, repair.limit);
  return ReadSeqs(query);
}

// Messages that are not dead, but have a dead delivery: at most `limit`.
Result<std::vector<std::int64_t>> TargetDeadDeliveries(Connection& connection,
                                                       const message::TableName& table,
                                                       const RepairMany& repair,
                                                       std::size_t limit) {
  const std::string tenant = TenantText(repair.scope);
  OUTBOX_ASSIGN_OR_RETURN(Query query,
                          connection.Prepare(Render(table, sql::sqlite::kTargetDeadDeliveries)));
  BindFilter(query, *repair.target.filter, tenant, limit);
  return ReadSeqs(query);
}

Result<std::vector<std::int64_t>> TargetRows(Connection& connection,
                                             const message::TableName& table,
                                             const RepairMany& repair) {
  if (!repair.target.filter) return TargetIds(connection, table, repair);
  OUTBOX_ASSIGN_OR_RETURN(auto rows, TargetFiltered(connection, table, repair));
  const bool retries_dead =
      repair.kind == RepairKind::kRetry && repair.target.filter->status == ListStatus::kDead;
  if (!retries_dead || rows.size() >= repair.limit) return rows;
  OUTBOX_ASSIGN_OR_RETURN(
      const auto more, TargetDeadDeliveries(connection, table, repair, repair.limit - rows.size()));
  rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

// How many rows it changed: none when the row's state does not allow it.
Result<std::int64_t> Change(Connection& connection, const message::TableName& table,
                            RepairKind kind, std::int64_t seq) {
  OUTBOX_ASSIGN_OR_RETURN(
      Query query,
      connection.Prepare(Render(table, kind == RepairKind::kRetry ? sql::sqlite::kRepairRetry
                                                                  : sql::sqlite::kRepairDelete)));
  return query.Bind(1, seq).Run();
}

Status RecordRepair(Connection& connection, const message::TableName& table, RepairKind kind,
                    const Audit& audit, std::size_t changed) {
  return RecordAudit(connection, {.action = kind == RepairKind::kRetry ? "retry" : "delete",
                                  .table = table.name(),
                                  .changed = changed,
                                  .audit = audit});
}

}  // namespace

Result<RepairResult> RepairOne(Connection& connection, const message::TableName& table,
                               const RepairOfOne& repair) {
  const std::string text = repair.id.ToString();
  const std::string tenant = TenantText(repair.scope);
  OUTBOX_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(connection));
  RepairResult result;
  std::int64_t seq = 0;
  {
    OUTBOX_ASSIGN_OR_RETURN(Query query,
                            connection.Prepare(Render(table, sql::sqlite::kGetMessage)));
    query.Bind(1, text);
    BindUnlessEmpty(query, 2, tenant);
    OUTBOX_ASSIGN_OR_RETURN(const bool found, query.Step());
    if (!found) return result;
    const StoredMessage stored = ReadStored(query, table);
    result.status = stored.status;
    result.locked_until = stored.locked_until;
    seq = stored.message.seq;
  }
  OUTBOX_ASSIGN_OR_RETURN(const std::int64_t changed, Change(connection, table, repair.kind, seq));
  if (changed > 0 && repair.audit != nullptr) {
    OUTBOX_RETURN_IF_ERROR(RecordRepair(connection, table, repair.kind, *repair.audit, 1));
  }
  OUTBOX_RETURN_IF_ERROR(transaction.Commit());
  result.outcome = changed > 0 ? RepairResult::Outcome::kDone : RepairResult::Outcome::kRefused;
  return result;
}

Result<std::size_t> Repair(Connection& connection, const message::TableName& table,
                           const RepairMany& repair) {
  OUTBOX_RETURN_IF_ERROR(Validate(repair.target));
  if (repair.dry_run) {
    OUTBOX_ASSIGN_OR_RETURN(const auto rows, TargetRows(connection, table, repair));
    return rows.size();
  }
  OUTBOX_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(connection));
  OUTBOX_ASSIGN_OR_RETURN(const auto rows, TargetRows(connection, table, repair));
  for (const std::int64_t seq : rows) {
    OUTBOX_RETURN_IF_ERROR(Change(connection, table, repair.kind, seq).error());
  }
  if (!rows.empty() && repair.target.audit) {
    OUTBOX_RETURN_IF_ERROR(
        RecordRepair(connection, table, repair.kind, *repair.target.audit, rows.size()));
  }
  OUTBOX_RETURN_IF_ERROR(transaction.Commit());
  return rows.size();
}

}  // namespace outbox::store::sqlite
