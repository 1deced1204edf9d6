#include "store/sqlite/inspect_store.h"

#include <algorithm>
#include <utility>

#include "sql/sqlite.h"
#include "store/sqlite/connection_slot.h"
#include "store/sqlite/list_query.h"
#include "store/sqlite/repair_query.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/table.h"
#include "store/stats_estimate.h"

namespace outbox::store::sqlite {
namespace {

// A tenant's delivered messages are counted by index alone.
constexpr std::int64_t kTenantCountedMax = 100'000;
constexpr std::int64_t kDeliveriesCountedMax = 1'000;  // of each destination
constexpr std::int64_t kUnlimited = -1;
// Sequence numbers that a sample reads in a row: a page or two of the file.
constexpr std::int64_t kRunLength = 50;

class SqliteInspectStore final : public InspectStore {
 public:
  SqliteInspectStore(const std::string& path, message::TableName table, StatsLimits limits)
      : table_(std::move(table)), limits_(limits), connection_(path) {}

  Result<ListPage> List(const Scope& scope, const ListFilter& filter, Deadline deadline) override {
    return connection_.Use(deadline,
                           [&](Connection& on) { return ListMessages(on, table_, scope, filter); });
  }

  Result<NumberedPage> ListNumbered(const Scope& scope, const ListFilter& filter,
                                    std::size_t number, Deadline deadline) override {
    return connection_.Use(deadline, [&](Connection& on) {
      return ListNumberedMessages(on, table_, scope, filter, number);
    });
  }

  Result<std::optional<StoredMessage>> Get(const Scope& scope, const Uuid& id,
                                           Deadline deadline) override {
    return connection_.Use(deadline, [&](Connection& on) { return GetOn(on, scope, id); });
  }

  Result<std::vector<Attempt>> Attempts(const Scope& scope, const Uuid& id,
                                        Deadline deadline) override {
    return connection_.Use(deadline, [&](Connection& on) { return AttemptsOn(on, scope, id); });
  }

  Result<TableStats> Stats(const Scope& scope, bool exact, Deadline deadline) override {
    return connection_.Use(deadline, [&](Connection& on) {
      return scope.tenant() ? TenantStatsOn(on, *scope.tenant(), exact) : StatsOn(on, exact);
    });
  }

  Result<RepairResult> RetryOne(const Scope& scope, const Uuid& id, const Audit* audit,
                                Deadline deadline) override {
    return connection_.Use(deadline, [&](Connection& on) {
      return RepairOne(on, table_, {RepairKind::kRetry, scope, id, audit});
    });
  }

  Result<RepairResult> DeleteOne(const Scope& scope, const Uuid& id, const Audit* audit,
                                 Deadline deadline) override {
    return connection_.Use(deadline, [&](Connection& on) {
      return RepairOne(on, table_, {RepairKind::kDelete, scope, id, audit});
    });
  }

  Result<std::size_t> Retry(const Scope& scope, const RepairTarget& target, bool dry_run,
                            std::size_t limit, Deadline deadline) override {
    const RepairMany repair{RepairKind::kRetry, scope, target, dry_run, limit};
    return connection_.Use(deadline, [&](Connection& on) { return Repair(on, table_, repair); });
  }

  Result<std::size_t> Delete(const Scope& scope, const RepairTarget& target, bool dry_run,
                             std::size_t limit, Deadline deadline) override {
    const RepairMany repair{RepairKind::kDelete, scope, target, dry_run, limit};
    return connection_.Use(deadline, [&](Connection& on) { return Repair(on, table_, repair); });
  }

 private:
  // The row itself, without its deliveries.
  Result<std::optional<StoredMessage>> RowOn(Connection& connection, const Scope& scope,
                                             const Uuid& id) {
    const std::string text = id.ToString();
    const std::string tenant = scope.tenant() ? scope.tenant()->ToString() : "";
    OUTBOX_ASSIGN_OR_RETURN(Query query,
                            connection.Prepare(Render(table_, sql::sqlite::kGetMessage)));
    query.Bind(1, text);
    if (!tenant.empty()) query.Bind(2, tenant);
    OUTBOX_ASSIGN_OR_RETURN(const bool found, query.Step());
    if (!found) return std::optional<StoredMessage>();
    return std::optional(ReadStored(query, table_));
  }

  Result<std::optional<StoredMessage>> GetOn(Connection& connection, const Scope& scope,
                                             const Uuid& id) {
    OUTBOX_ASSIGN_OR_RETURN(auto stored, RowOn(connection, scope, id));
    if (!stored) return stored;
    OUTBOX_ASSIGN_OR_RETURN(Query list,
                            connection.Prepare(Render(table_, sql::sqlite::kListDeliveries)));
    list.Bind(1, stored->message.seq);
    while (true) {
      OUTBOX_ASSIGN_OR_RETURN(const bool more, list.Step());
      if (!more) return stored;
      stored->deliveries.push_back(ReadDelivery(list));
    }
  }

  Result<std::vector<Attempt>> AttemptsOn(Connection& connection, const Scope& scope,
                                          const Uuid& id) {
    std::vector<Attempt> attempts;
    OUTBOX_ASSIGN_OR_RETURN(const auto row, RowOn(connection, scope, id));
    if (!row) return attempts;
    OUTBOX_ASSIGN_OR_RETURN(Query list,
                            connection.Prepare(Render(table_, sql::sqlite::kListAttempts)));
    list.Bind(1, row->message.seq).Bind(2, static_cast<std::int64_t>(kAttemptsShownMax));
    while (true) {
      OUTBOX_ASSIGN_OR_RETURN(const bool more, list.Step());
      if (!more) break;
      attempts.push_back(ReadAttempt(list));
    }
    std::reverse(attempts.begin(), attempts.end());
    return attempts;
  }

  Result<TableStats> TenantStatsOn(Connection& connection, const Uuid& id, bool exact) {
    const std::int64_t cap = exact ? kUnlimited : kTenantCountedMax;
    const std::string tenant = id.ToString();
    TableStats stats;
    OUTBOX_ASSIGN_OR_RETURN(Query live,
                            connection.Prepare(Render(table_, sql::sqlite::kStatsTenant)));
    OUTBOX_RETURN_IF_ERROR(live.Bind(1, tenant).Bind(2, cap).Step().error());
    ReadLive(live, stats);
    stats.dead = live.Int(6);
    if (!live.IsNull(7)) stats.oldest_age = std::chrono::milliseconds(live.Int(7));
    const bool live_capped = live.Int(0) == kTenantCountedMax;
    OUTBOX_ASSIGN_OR_RETURN(Query delivered,
                            connection.Prepare(Render(table_, sql::sqlite::kStatsTenantDelivered)));
    OUTBOX_RETURN_IF_ERROR(delivered.Bind(1, tenant).Bind(2, cap).Step().error());
    stats.delivered = delivered.Int(0);
    stats.capped = !exact && (live_capped || stats.delivered == kTenantCountedMax);
    return stats;
  }

  Result<TableStats> StatsOn(Connection& connection, bool exact) {
    const std::int64_t cap = exact ? kUnlimited : limits_.counted;
    TableStats stats;
    OUTBOX_ASSIGN_OR_RETURN(const std::int64_t live, CountLive(connection, cap, stats));
    OUTBOX_ASSIGN_OR_RETURN(stats.dead, Number(connection, sql::sqlite::kStatsDead, cap));
    OUTBOX_ASSIGN_OR_RETURN(stats.delivered, Number(connection, sql::sqlite::kStatsDelivered, cap));
    OUTBOX_RETURN_IF_ERROR(ReadOldestAge(connection, stats));
    OUTBOX_RETURN_IF_ERROR(AddDeliveries(connection, exact, stats));
    if (exact) return stats;
    stats.live_estimated = live == cap;
    stats.dead_estimated = stats.dead == cap;
    stats.delivered_estimated = stats.delivered == cap;
    return EstimateStats(stats,
                         [&](const SampleRange& range) { return LookAt(connection, range, live); });
  }

  Result<StatsSample> LookAt(Connection& connection, const SampleRange& range,
                             std::int64_t counted) {
    OUTBOX_ASSIGN_OR_RETURN(Query all,
                            connection.Prepare(Render(table_, sql::sqlite::kStatsSeqRange)));
    OUTBOX_RETURN_IF_ERROR(all.Step().error());
    const std::int64_t end =
        std::min(all.Int(0) + all.Int(1), range.until.value_or(all.Int(0) + all.Int(1)));
    const std::int64_t first = std::max(all.Int(0), range.from.value_or(all.Int(0)));
    StatsSample sample{.parts = std::max<std::int64_t>(end - first, 0)};
    std::int64_t runs = range.closer ? limits_.runs_closer : limits_.runs;
    std::int64_t length = kRunLength;
    if (sample.parts <= runs * length) {
      runs = 1;
      length = sample.parts;
    }
    sample.parts_read = runs * length;
    sample.step = sample.parts / runs;
    OUTBOX_ASSIGN_OR_RETURN(Query last,
                            connection.Prepare(Render(table_, sql::sqlite::kStatsLastCounted)));
    OUTBOX_ASSIGN_OR_RETURN(const bool found, last.Bind(1, counted).Step());
    OUTBOX_ASSIGN_OR_RETURN(Query query,
                            connection.Prepare(Render(table_, sql::sqlite::kStatsSample)));
    query.Bind(1, runs).Bind(2, length).Bind(3, first).Bind(4, sample.parts);
    OUTBOX_RETURN_IF_ERROR(
        query.Bind(5, found ? last.Int(0) : 0).Bind(6, found ? last.Int(1) : 0).Step().error());
    ReadSample(query, sample);
    return sample;
  }

  static void ReadSample(const Query& query, StatsSample& sample) {
    sample.rows.pending = query.Int(0);
    sample.rows.due = query.Int(1);
    sample.rows.retrying = query.Int(2);
    sample.rows.processing = query.Int(3);
    sample.rows.stale = query.Int(4);
    sample.rows.dead = query.Int(5);
    sample.rows.delivered = query.Int(6);
    if (!query.IsNull(7)) sample.first_live = query.Int(7);
    if (!query.IsNull(8)) sample.last_live = query.Int(8);
  }

  Result<std::int64_t> CountLive(Connection& connection, std::int64_t cap, TableStats& stats) {
    OUTBOX_ASSIGN_OR_RETURN(Query query,
                            connection.Prepare(Render(table_, sql::sqlite::kStatsLive)));
    OUTBOX_RETURN_IF_ERROR(query.Bind(1, cap).Step().error());
    ReadLive(query, stats);
    return query.Int(0);
  }

  // The columns that stats_live.sql and stats_tenant.sql share.
  static void ReadLive(const Query& query, TableStats& stats) {
    stats.pending = query.Int(1);
    stats.due = query.Int(2);
    stats.retrying = query.Int(3);
    stats.processing = query.Int(4);
    stats.stale = query.Int(5);
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

  Status AddDeliveries(Connection& connection, bool exact, TableStats& stats) {
    OUTBOX_ASSIGN_OR_RETURN(Query query,
                            connection.Prepare(Render(table_, sql::sqlite::kStatsDeliveries)));
    const std::int64_t cap = exact ? kUnlimited : kDeliveriesCountedMax;
    OUTBOX_RETURN_IF_ERROR(query.Bind(1, cap).Step().error());
    stats.due += query.Int(0);
    if (query.IsNull(1)) return Status::Ok();
    const std::chrono::milliseconds age(query.Int(1));
    stats.oldest_age = std::max(stats.oldest_age.value_or(age), age);
    return Status::Ok();
  }

  message::TableName table_;
  const StatsLimits limits_;
  ConnectionSlot connection_;
};

}  // namespace

Result<std::unique_ptr<InspectStore>> OpenInspectStore(const std::string& path,
                                                       const std::string& table, Deadline deadline,
                                                       StatsLimits limits) {
  OUTBOX_ASSIGN_OR_RETURN(message::TableName name, ParseTable(table));
  OUTBOX_ASSIGN_OR_RETURN(const auto connection,
                          Connection::Open(path, OpenMode::kExisting, deadline));
  OUTBOX_RETURN_IF_ERROR(CheckUsable(*connection, name));
  return std::unique_ptr<InspectStore>(
      std::make_unique<SqliteInspectStore>(path, std::move(name), limits));
}

}  // namespace outbox::store::sqlite
