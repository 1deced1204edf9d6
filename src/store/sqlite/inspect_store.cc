#include "store/sqlite/inspect_store.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "sql/sqlite.h"
#include "store/sqlite/connection_slot.h"
#include "store/sqlite/list_query.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/table.h"

namespace outbox::store::sqlite {
namespace {

// Counting stops here: about a tenth of a second of work.
constexpr std::int64_t kCountedMax = 100'000;
constexpr std::int64_t kUnlimited = -1;

std::string ToJsonArray(const std::vector<Uuid>& ids) {
  std::vector<std::string> quoted;
  for (const Uuid& id : ids) quoted.push_back(base::StrCat("\"", id.ToString(), "\""));
  return base::StrCat("[", base::Join(quoted, ","), "]");
}

class SqliteInspectStore final : public InspectStore {
 public:
  SqliteInspectStore(const std::string& path, message::TableName table)
      : table_(std::move(table)), connection_(path) {}

  Result<ListPage> List(const ListFilter& filter, Deadline deadline) override {
    return connection_.Use(deadline,
                           [&](Connection& on) { return ListMessages(on, table_, filter); });
  }

  Result<std::optional<StoredMessage>> Get(const Uuid& id, Deadline deadline) override {
    return connection_.Use(deadline, [&](Connection& on) { return GetOn(on, id); });
  }

  Result<TableStats> Stats(bool exact, Deadline deadline) override {
    return connection_.Use(deadline, [&](Connection& on) { return StatsOn(on, exact); });
  }

  Result<std::size_t> Retry(const RepairTarget& target, bool dry_run, std::size_t limit,
                            Deadline deadline) override {
    const Repair repair{target, sql::sqlite::kRepairRetry, false, dry_run, limit};
    return connection_.Use(deadline, [&](Connection& on) { return RepairOn(on, repair); });
  }

  Result<std::size_t> Delete(const RepairTarget& target, bool dry_run, std::size_t limit,
                             Deadline deadline) override {
    const Repair repair{target, sql::sqlite::kRepairDelete, true, dry_run, limit};
    return connection_.Use(deadline, [&](Connection& on) { return RepairOn(on, repair); });
  }

 private:
  struct Repair {
    const RepairTarget& target;
    std::string_view statement;
    bool pending_too;
    bool dry_run;
    std::size_t limit;
  };

  Result<std::optional<StoredMessage>> GetOn(Connection& connection, const Uuid& id) {
    const std::string text = id.ToString();
    OUTBOX_ASSIGN_OR_RETURN(Query query,
                            connection.Prepare(Render(table_, sql::sqlite::kGetMessage)));
    query.Bind(1, text);
    OUTBOX_ASSIGN_OR_RETURN(const bool found, query.Step());
    if (!found) return std::optional<StoredMessage>();
    StoredMessage stored = ReadStored(query, table_);
    OUTBOX_ASSIGN_OR_RETURN(Query list,
                            connection.Prepare(Render(table_, sql::sqlite::kListDeliveries)));
    list.Bind(1, stored.message.seq);
    while (true) {
      OUTBOX_ASSIGN_OR_RETURN(const bool more, list.Step());
      if (!more) return std::optional(std::move(stored));
      stored.deliveries.push_back(ReadDelivery(list));
    }
  }

  Result<TableStats> StatsOn(Connection& connection, bool exact) {
    const std::int64_t cap = exact ? kUnlimited : kCountedMax;
    TableStats stats;
    OUTBOX_ASSIGN_OR_RETURN(const std::int64_t live, CountLive(connection, cap, stats));
    OUTBOX_ASSIGN_OR_RETURN(stats.dead, Number(connection, sql::sqlite::kStatsDead, cap));
    stats.capped = !exact && std::max(live, stats.dead) == kCountedMax;

    OUTBOX_ASSIGN_OR_RETURN(stats.delivered, Number(connection, sql::sqlite::kStatsDelivered, cap));
    stats.delivered_exact = exact || stats.delivered < kCountedMax;
    if (!stats.delivered_exact) {
      OUTBOX_ASSIGN_OR_RETURN(const std::int64_t range,
                              Number(connection, sql::sqlite::kStatsSeqRange, std::nullopt));
      stats.delivered = std::max(stats.delivered, range - live - stats.dead);
    }
    OUTBOX_RETURN_IF_ERROR(ReadOldestAge(connection, stats));
    return stats;
  }

  Result<std::int64_t> CountLive(Connection& connection, std::int64_t cap, TableStats& stats) {
    OUTBOX_ASSIGN_OR_RETURN(Query query,
                            connection.Prepare(Render(table_, sql::sqlite::kStatsLive)));
    OUTBOX_RETURN_IF_ERROR(query.Bind(1, cap).Step().error());
    stats.pending = query.Int(1);
    stats.due = query.Int(2);
    stats.retrying = query.Int(3);
    stats.processing = query.Int(4);
    stats.stale = query.Int(5);
    return query.Int(0);
  }

  Result<std::int64_t> Number(Connection& connection, std::string_view sql,
                              std::optional<std::int64_t> cap) {
    OUTBOX_ASSIGN_OR_RETURN(Query query, connection.Prepare(Render(table_, sql)));
    if (cap) query.Bind(1, *cap);
    OUTBOX_RETURN_IF_ERROR(query.Step().error());
    return query.Int(0);
  }

  Status ReadOldestAge(Connection& connection, TableStats& stats) {
    OUTBOX_ASSIGN_OR_RETURN(Query query,
                            connection.Prepare(Render(table_, sql::sqlite::kStatsOldest)));
    OUTBOX_ASSIGN_OR_RETURN(const bool found, query.Step());
    if (found) stats.oldest_age = std::chrono::milliseconds(query.Int(0));
    return Status::Ok();
  }

  Result<std::size_t> RepairOn(Connection& connection, const Repair& repair) {
    if (repair.dry_run) {
      OUTBOX_ASSIGN_OR_RETURN(const auto rows, TargetRows(connection, repair));
      return rows.size();
    }
    OUTBOX_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(connection));
    OUTBOX_ASSIGN_OR_RETURN(const auto rows, TargetRows(connection, repair));
    const std::string sql = Render(table_, repair.statement);
    for (const std::int64_t seq : rows) {
      OUTBOX_ASSIGN_OR_RETURN(Query query, connection.Prepare(sql));
      OUTBOX_RETURN_IF_ERROR(query.Bind(1, seq).Run().error());
    }
    OUTBOX_RETURN_IF_ERROR(transaction.Commit());
    return rows.size();
  }

  Result<std::vector<std::int64_t>> TargetRows(Connection& connection, const Repair& repair) {
    const bool all_dead = repair.target.all_dead;
    const std::string ids = ToJsonArray(repair.target.ids);
    const auto limit = static_cast<std::int64_t>(repair.limit);
    OUTBOX_ASSIGN_OR_RETURN(
        Query query, connection.Prepare(Render(
                         table_, all_dead ? sql::sqlite::kTargetDead : sql::sqlite::kTargetIds)));
    if (all_dead) {
      if (!repair.target.topic.empty()) query.Bind(1, repair.target.topic);
      query.Bind(2, limit);
    } else {
      query.Bind(1, ids).Bind(2, repair.pending_too ? 1 : 0).Bind(3, limit);
    }
    std::vector<std::int64_t> rows;
    while (true) {
      OUTBOX_ASSIGN_OR_RETURN(const bool found, query.Step());
      if (!found) return rows;
      rows.push_back(query.Int(0));
    }
  }

  message::TableName table_;
  ConnectionSlot connection_;
};

}  // namespace

Result<std::unique_ptr<InspectStore>> OpenInspectStore(const std::string& path,
                                                       const std::string& table,
                                                       Deadline deadline) {
  OUTBOX_ASSIGN_OR_RETURN(message::TableName name, ParseTable(table));
  OUTBOX_ASSIGN_OR_RETURN(const auto connection,
                          Connection::Open(path, OpenMode::kExisting, deadline));
  OUTBOX_RETURN_IF_ERROR(CheckUsable(*connection, name));
  return std::unique_ptr<InspectStore>(std::make_unique<SqliteInspectStore>(path, std::move(name)));
}

}  // namespace outbox::store::sqlite
