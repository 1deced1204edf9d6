#include "store/postgres/clean_store.h"

#include "sql/postgres.h"
#include "store/postgres/table_check.h"
#include "store/schema_check.h"

namespace outbox::store::postgres {

PostgresCleanStore::PostgresCleanStore(std::shared_ptr<const Address> address,
                                       const message::TableName& table)
    : table_(table),
      purge_delivered_(table, sql::postgres::kPurgeDelivered),
      purge_dead_(table, sql::postgres::kPurgeDead),
      purge_attempts_(table, sql::postgres::kPurgeAttempts),
      connection_(std::move(address), Plans::kPinned) {}

Status PostgresCleanStore::Check(Deadline deadline) {
  return RequireTable(connection_, table_, Access::kRelay, deadline);
}

Result<std::size_t> PostgresCleanStore::PurgeDelivered(std::chrono::milliseconds retention,
                                                       std::size_t limit, Deadline deadline) {
  Params params;
  params.Int8(retention.count()).Int8(static_cast<std::int64_t>(limit)).Time(purged_until_);
  OUTBOX_ASSIGN_OR_RETURN(const Rows rows, connection_.Execute(purge_delivered_, params, deadline));
  const auto count = static_cast<std::size_t>(rows.Int8(0, 0));
  purged_until_ = count < limit ? Timestamp::min() : rows.Time(0, 1);
  return count;
}

Result<std::size_t> PostgresCleanStore::PurgeDead(std::chrono::milliseconds retention,
                                                  std::size_t limit, Deadline deadline) {
  Params params;
  params.Int8(retention.count()).Int8(static_cast<std::int64_t>(limit));
  OUTBOX_ASSIGN_OR_RETURN(const Rows rows, connection_.Execute(purge_dead_, params, deadline));
  return static_cast<std::size_t>(rows.Int8(0, 0));
}

Result<std::size_t> PostgresCleanStore::PurgeAttempts(std::size_t limit, Deadline deadline) {
  Params params;
  params.Int8(attempts_seen_).Int8(static_cast<std::int64_t>(limit));
  OUTBOX_ASSIGN_OR_RETURN(const Rows rows, connection_.Execute(purge_attempts_, params, deadline));
  const bool end = static_cast<std::size_t>(rows.Int8(0, 1)) < limit;
  attempts_seen_ = end ? 0 : rows.Int8(0, 2);
  return static_cast<std::size_t>(rows.Int8(0, 0));
}

Result<std::size_t> PostgresCleanStore::PurgeAudit(std::chrono::milliseconds retention,
                                                   std::size_t limit, Deadline deadline) {
  static const Statement& kPurge = *new Statement(sql::postgres::kPurgeAudit);
  Params params;
  params.Text(table_.Display()).Int8(retention.count()).Int8(static_cast<std::int64_t>(limit));
  const auto rows = connection_.Execute(kPurge, params, deadline);
  if (rows.ok()) return static_cast<std::size_t>(rows->Int8(0, 0));
  if (rows.error().code() != Code::kSchema) return rows.error();
  return Status(rows.error()).WithHint(MigrateHint(table_.Display()));
}

}  // namespace outbox::store::postgres
