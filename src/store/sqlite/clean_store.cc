#include "store/sqlite/clean_store.h"

#include <algorithm>
#include <limits>
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
    return Purge(deadline, [&](Connection& on) { return DeleteDelivered(on, retention, limit); });
  }

  Result<std::size_t> PurgeDead(std::chrono::milliseconds retention, std::size_t limit,
                                Deadline deadline) override {
    return Purge(deadline, [&](Connection& on) -> Result<std::size_t> {
      OUTBOX_ASSIGN_OR_RETURN(Query query, on.Prepare(purge_dead_));
      query.Bind(1, retention.count()).Bind(2, static_cast<std::int64_t>(limit));
      OUTBOX_ASSIGN_OR_RETURN(const std::int64_t count, query.Run());
      return static_cast<std::size_t>(count);
    });
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
  template <typename Delete>
  Result<std::size_t> Purge(Deadline deadline, Delete what) {
    return connection_.Use(deadline, [&](Connection& on) -> Result<std::size_t> {
      OUTBOX_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(on));
      OUTBOX_ASSIGN_OR_RETURN(const std::size_t count, what(on));
      OUTBOX_RETURN_IF_ERROR(transaction.Commit());
      return count;
    });
  }

  Result<std::size_t> DeleteDelivered(Connection& on, std::chrono::milliseconds retention,
                                      std::size_t limit) {
    OUTBOX_ASSIGN_OR_RETURN(Query query, on.Prepare(purge_delivered_));
    query.Bind(1, retention.count()).Bind(2, static_cast<std::int64_t>(limit));
    query.Bind(3, purged_until_);
    std::size_t count = 0;
    std::int64_t until = purged_until_;
    while (true) {
      OUTBOX_ASSIGN_OR_RETURN(const bool found, query.Step());
      if (!found) break;
      ++count;
      until = std::max(until, query.Int(0));
    }
    purged_until_ = count < limit ? kStart : until;
    return count;
  }

  static constexpr std::int64_t kStart = std::numeric_limits<std::int64_t>::min();

  std::string table_;
  std::string purge_delivered_;
  std::string purge_dead_;
  std::int64_t purged_until_ = kStart;  // what comes before stays, in this round
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
