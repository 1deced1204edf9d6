#include "store/sqlite/clean_store.h"

#include <algorithm>
#include <utility>

#include "outbox/options.h"
#include "sql/sqlite.h"
#include "store/control_store.h"
#include "store/sqlite/connection_slot.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/table.h"

namespace outbox::store::sqlite {
namespace {

class SqliteCleanStore final : public CleanStore {
 public:
  SqliteCleanStore(const std::string& path, const message::TableName& table)
      : table_(table.name()),
        purge_delivered_(Render(table, sql::sqlite::kPurgeDelivered)),
        purge_dead_(Render(table, sql::sqlite::kPurgeDead)),
        connection_(path) {}

  Result<std::size_t> PurgeDelivered(std::chrono::milliseconds retention, std::size_t limit,
                                     Deadline deadline) override {
    return Purge(purge_delivered_, retention, limit, deadline);
  }

  Result<std::size_t> PurgeDead(std::chrono::milliseconds retention, std::size_t limit,
                                Deadline deadline) override {
    return Purge(purge_dead_, retention, limit, deadline);
  }

  // A trigger deletes attempts with their message: none is left over.
  Result<std::size_t> PurgeAttempts(std::size_t, Deadline) override { return std::size_t{0}; }

  Result<std::size_t> PurgeAudit(std::chrono::milliseconds retention, std::size_t limit,
                                 Deadline deadline) override {
    return connection_.Use(deadline, [&](Connection& on) -> Result<std::size_t> {
      OUTBOX_ASSIGN_OR_RETURN(const bool there, HasControl(on));
      if (!there) return ControlTablesMissing();
      OUTBOX_ASSIGN_OR_RETURN(Query query, on.Prepare(Render(sql::sqlite::kPurgeAudit)));
      query.Bind(1, std::max(retention, CleanerOptions::kAuditRetentionMin).count());
      query.Bind(2, static_cast<std::int64_t>(limit)).Bind(3, table_);
      OUTBOX_ASSIGN_OR_RETURN(const std::int64_t count, query.Run());
      return static_cast<std::size_t>(count);
    });
  }

 private:
  Result<std::size_t> Purge(const std::string& sql, std::chrono::milliseconds retention,
                            std::size_t limit, Deadline deadline) {
    return connection_.Use(deadline, [&](Connection& on) -> Result<std::size_t> {
      OUTBOX_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(on));
      OUTBOX_ASSIGN_OR_RETURN(const std::int64_t count, Delete(on, sql, retention, limit));
      OUTBOX_RETURN_IF_ERROR(transaction.Commit());
      return static_cast<std::size_t>(count);
    });
  }

  static Result<std::int64_t> Delete(Connection& connection, const std::string& sql,
                                     std::chrono::milliseconds retention, std::size_t limit) {
    OUTBOX_ASSIGN_OR_RETURN(Query query, connection.Prepare(sql));
    return query.Bind(1, retention.count()).Bind(2, static_cast<std::int64_t>(limit)).Run();
  }

  std::string table_;
  std::string purge_delivered_;
  std::string purge_dead_;
  ConnectionSlot connection_;
};

}  // namespace

Result<std::unique_ptr<CleanStore>> OpenCleanStore(const std::string& path,
                                                   const std::string& table, Deadline deadline) {
  OUTBOX_ASSIGN_OR_RETURN(const message::TableName name, ParseTable(table));
  OUTBOX_ASSIGN_OR_RETURN(const auto connection,
                          Connection::Open(path, OpenMode::kExisting, deadline));
  OUTBOX_RETURN_IF_ERROR(CheckUsable(*connection, name));
  return std::unique_ptr<CleanStore>(std::make_unique<SqliteCleanStore>(path, name));
}

}  // namespace outbox::store::sqlite
