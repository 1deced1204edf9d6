#include "store/postgres/inspect_store.h"

#include <algorithm>

#include "sql/postgres.h"
#include "store/postgres/list_query.h"
#include "store/postgres/table_check.h"

namespace outbox::store::postgres {
namespace {

namespace queries = sql::postgres;

// Counts stop here; enough to say "a lot", in about a second.
constexpr std::int64_t kCountMax = 1'000'000;
// Up to this many delivered rows are counted; beyond it the estimate of the planner is good enough.
constexpr std::int64_t kDeliveredCountMax = 10'000;

// The columns of table_stats.sql.
enum : int {
  kPending,
  kDue,
  kRetrying,
  kProcessing,
  kStale,
  kLive,
  kDead,
  kDelivered,
  kRowsEstimate,
  kOldestAge,
};

TableStats ReadStats(const Rows& rows, bool exact) {
  TableStats stats;
  const std::int64_t live = rows.Int8(0, kLive);
  stats.pending = rows.Int8(0, kPending);
  stats.due = rows.Int8(0, kDue);
  stats.retrying = rows.Int8(0, kRetrying);
  stats.processing = rows.Int8(0, kProcessing);
  stats.stale = rows.Int8(0, kStale);
  stats.dead = rows.Int8(0, kDead);
  stats.capped = live >= kCountMax || stats.dead >= kCountMax;
  stats.delivered = rows.Int8(0, kDelivered);
  stats.delivered_exact = exact || stats.delivered <= kDeliveredCountMax;
  if (!stats.delivered_exact) {
    stats.delivered = std::max(stats.delivered, rows.Int8(0, kRowsEstimate) - live - stats.dead);
  }
  if (!rows.null(0, kOldestAge)) {
    stats.oldest_age = std::chrono::milliseconds(rows.Int8(0, kOldestAge));
  }
  return stats;
}

// The columns of list_deliveries.sql.
Delivery ReadDelivery(const Rows& rows, int row) {
  return {.destination = std::string(rows.Text(row, 0)),
          .status = ParseMessageStatus(rows.Text(row, 1)).value_or(MessageStatus::kPending),
          .attempts = rows.Int4(row, 2),
          .available_at = rows.Time(row, 3),
          .last_error = std::string(rows.Text(row, 4)),
          .updated_at = rows.Time(row, 5),
          .processed_at = rows.TimeOrNull(row, 6)};
}

}  // namespace

PostgresInspectStore::PostgresInspectStore(std::shared_ptr<const Address> address,
                                           message::TableName table)
    : table_(std::move(table)),
      table_display_(table_.Display()),
      connection_(std::move(address), Plans::kFresh) {}

Status PostgresInspectStore::Check(Deadline deadline) {
  return RequireTable(connection_, table_, kReadAccess, deadline);
}

Result<ListPage> PostgresInspectStore::List(const ListFilter& filter, Deadline deadline) {
  ListPage page;
  if (filter.limit == 0) return page;
  OUTBOX_ASSIGN_OR_RETURN(const ListQuery query, MakeListQuery(filter));
  OUTBOX_ASSIGN_OR_RETURN(
      const Rows rows, connection_.Execute(Statement(table_, query.sql), query.params, deadline));
  const int count = std::min(rows.size(), static_cast<int>(filter.limit));
  for (int row = 0; row < count; ++row) {
    page.rows.push_back(ReadStoredMessage(rows, row, table_display_));
  }
  if (rows.size() > count) page.next = PositionAfter(filter, page.rows.back());
  return page;
}

Result<std::optional<StoredMessage>> PostgresInspectStore::Get(const Uuid& id, Deadline deadline) {
  Params params;
  params.UuidOrNull(id);
  OUTBOX_ASSIGN_OR_RETURN(
      const Rows rows,
      connection_.Execute(Statement(table_, queries::kGetMessage), params, deadline));
  std::optional<StoredMessage> found;
  if (rows.size() == 0) return found;
  found = ReadStoredMessage(rows, 0, table_display_);
  OUTBOX_ASSIGN_OR_RETURN(
      const Rows deliveries,
      connection_.Execute(Statement(table_, queries::kListDeliveries), params, deadline));
  for (int row = 0; row < deliveries.size(); ++row) {
    found->deliveries.push_back(ReadDelivery(deliveries, row));
  }
  return found;
}

Result<TableStats> PostgresInspectStore::Stats(bool exact, Deadline deadline) {
  Params params;
  params.Int8(kCountMax);
  if (exact) {
    params.Null();
  } else {
    params.Int8(kDeliveredCountMax + 1);
  }
  OUTBOX_ASSIGN_OR_RETURN(
      const Rows rows,
      connection_.Execute(Statement(table_, queries::kTableStats), params, deadline));
  return ReadStats(rows, exact);
}

Result<std::size_t> PostgresInspectStore::Repair(const RepairTarget& target, std::string_view by_id,
                                                 std::string_view all_dead, bool dry_run,
                                                 std::size_t limit, Deadline deadline) {
  Params params;
  if (target.all_dead) {
    params.TextUnlessEmpty(target.topic);
  } else {
    params.UuidArray(target.ids);
  }
  params.Int8(static_cast<std::int64_t>(limit)).Bool(dry_run);
  const Statement statement(table_, target.all_dead ? all_dead : by_id);
  OUTBOX_ASSIGN_OR_RETURN(const Rows rows, connection_.Execute(statement, params, deadline));
  return static_cast<std::size_t>(rows.Int8(0, 0));
}

Result<std::size_t> PostgresInspectStore::Retry(const RepairTarget& target, bool dry_run,
                                                std::size_t limit, Deadline deadline) {
  return Repair(target, queries::kRetryMessages, queries::kRetryDead, dry_run, limit, deadline);
}

Result<std::size_t> PostgresInspectStore::Delete(const RepairTarget& target, bool dry_run,
                                                 std::size_t limit, Deadline deadline) {
  return Repair(target, queries::kDeleteMessages, queries::kDeleteDead, dry_run, limit, deadline);
}

}  // namespace outbox::store::postgres
