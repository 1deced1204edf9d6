#include "store/postgres/inspect_store.h"

#include <algorithm>
#include <vector>

#include "message/validate.h"
#include "sql/postgres.h"
#include "store/postgres/control_store.h"
#include "store/postgres/list_query.h"
#include "store/postgres/table_check.h"
#include "store/stats_estimate.h"

namespace outbox::store::postgres {
namespace {

namespace queries = sql::postgres;

// Rows that a list looks at one by one in a call: some ten milliseconds.
constexpr std::size_t kLookedAtMax = 10'000;
// A tenant's rows that are not delivered are read to be counted, of the delivered only index
// entries.
constexpr std::int64_t kTenantLiveCountMax = 10'000;
constexpr std::int64_t kTenantDeliveredCountMax = 50'000;

// The columns of table_stats.sql and tenant_stats.sql.
enum : int {
  kPending,
  kDue,
  kRetrying,
  kProcessing,
  kStale,
  kLive,
  kDead,
  kDelivered,
  kOldestAge,
  // Of table_stats.sql only.
  kLastAvailableAt,
  kLastSeq,
  kServerVersion,
};

// The columns of sample_pages.sql.
enum : int {
  kPages,
  kPagesRead,
  kSamplePending,
  kSampleDue,
  kSampleRetrying,
  kSampleProcessing,
  kSampleStale,
  kSampleDead,
  kSampleDelivered,
  kFirstLive,
  kLastLive,
};

// Ranges of ctids are read as such from here on.
constexpr int kTidRangeVersion = 140'000;

TableStats ReadStats(const Rows& rows) {
  TableStats stats;
  stats.pending = rows.Int8(0, kPending);
  stats.due = rows.Int8(0, kDue);
  stats.retrying = rows.Int8(0, kRetrying);
  stats.processing = rows.Int8(0, kProcessing);
  stats.stale = rows.Int8(0, kStale);
  stats.dead = rows.Int8(0, kDead);
  stats.delivered = rows.Int8(0, kDelivered);
  if (!rows.null(0, kOldestAge)) {
    stats.oldest_age = std::chrono::milliseconds(rows.Int8(0, kOldestAge));
  }
  return stats;
}

StatsSample ReadSample(const Rows& rows) {
  StatsSample sample;
  sample.parts = rows.Int8(0, kPages);
  sample.parts_read = rows.Int8(0, kPagesRead);
  sample.step = sample.parts / std::max<std::int64_t>(sample.parts_read, 1) + 1;
  sample.rows.pending = rows.Int8(0, kSamplePending);
  sample.rows.due = rows.Int8(0, kSampleDue);
  sample.rows.retrying = rows.Int8(0, kSampleRetrying);
  sample.rows.processing = rows.Int8(0, kSampleProcessing);
  sample.rows.stale = rows.Int8(0, kSampleStale);
  sample.rows.dead = rows.Int8(0, kSampleDead);
  sample.rows.delivered = rows.Int8(0, kSampleDelivered);
  if (!rows.null(0, kFirstLive)) sample.first_live = rows.Int8(0, kFirstLive);
  if (!rows.null(0, kLastLive)) sample.last_live = rows.Int8(0, kLastLive);
  return sample;
}

// No limit where an exact count is asked for.
void AddLimit(Params& params, bool exact, std::int64_t limit) {
  if (exact) {
    params.Null();
  } else {
    params.Int8(limit);
  }
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

// The columns of list_attempts.sql.
Attempt ReadAttempt(const Rows& rows, int row) {
  return {.destination = std::string(rows.Text(row, 0)),
          .attempt = rows.Int4(row, 1),
          .worker = std::string(rows.Text(row, 2)),
          .started_at = rows.Time(row, 3),
          .ended_at = rows.Time(row, 4),
          .result = ParseAttemptResult(rows.Text(row, 5)).value_or(AttemptResult::kNoOutcome),
          .error_class = std::string(rows.Text(row, 6)),
          .error = std::string(rows.Text(row, 7))};
}

}  // namespace

PostgresInspectStore::PostgresInspectStore(std::shared_ptr<const Address> address,
                                           message::TableName table, StatsLimits limits)
    : table_(std::move(table)),
      table_display_(table_.Display()),
      limits_(limits),
      connection_(std::move(address), Plans::kFresh) {}

Status PostgresInspectStore::Check(Deadline deadline) {
  OUTBOX_RETURN_IF_ERROR(RequireTable(connection_, table_, Access::kRead, deadline));
  all_rows_ = RequireAllRows(connection_, table_, deadline);
  return all_rows_.code() == Code::kPermission ? Status::Ok() : all_rows_;
}

Result<Rows> PostgresInspectStore::Ask(const Scope& scope, std::string_view sql,
                                       const Params& params, Deadline deadline) {
  static const Statement& kBegin = *new Statement("BEGIN");
  static const Statement& kPinQuery = *new Statement(queries::kPinQuery);
  static const Statement& kSetScope = *new Statement(queries::kSetScope);
  static const Statement& kCommit = *new Statement("COMMIT");
  if (!scope.tenant()) OUTBOX_RETURN_IF_ERROR(all_rows_);
  const Statement statement(table_, sql);
  const Params none;
  Params tenant;
  tenant.UuidOrNull(scope.tenant());
  std::vector<Connection::Step> steps{{&kBegin, &none}, {&kPinQuery, &none}};
  if (scope.tenant()) steps.push_back({&kSetScope, &tenant});
  const std::size_t asked = steps.size();
  steps.push_back({&statement, &params});
  steps.push_back({&kCommit, &none});
  OUTBOX_ASSIGN_OR_RETURN(auto results, connection_.Pipeline(steps, deadline));
  return std::move(results[asked]);
}

Result<Rows> PostgresInspectStore::Do(const Scope& scope, const Change& change, Deadline deadline) {
  if (change.audit == nullptr) return Ask(scope, change.sql, change.params, deadline);
  if (!scope.tenant()) OUTBOX_RETURN_IF_ERROR(all_rows_);
  OUTBOX_RETURN_IF_ERROR(connection_.Open(deadline));
  OUTBOX_RETURN_IF_ERROR(connection_.Run("BEGIN", deadline));
  Result<Rows> done = DoInTransaction(scope, change, deadline);
  if (done.ok()) {
    OUTBOX_RETURN_IF_ERROR(connection_.Run("COMMIT", deadline));
  } else if (connection_.session() != 0 && !connection_.Run("ROLLBACK", deadline).ok()) {
    // A session that is closed takes its transaction with it.
    connection_.Close();
  }
  return done;
}

Result<Rows> PostgresInspectStore::DoInTransaction(const Scope& scope, const Change& change,
                                                   Deadline deadline) {
  static const Statement& kSetScope = *new Statement(queries::kSetScope);
  const Connection::SessionId session = connection_.session();
  if (scope.tenant()) {
    Params tenant;
    tenant.UuidOrNull(scope.tenant());
    OUTBOX_RETURN_IF_ERROR(connection_.Execute(kSetScope, tenant, deadline, session).error());
  }
  OUTBOX_ASSIGN_OR_RETURN(Rows rows, connection_.Execute(Statement(table_, change.sql),
                                                         change.params, deadline, session));
  if (const std::size_t changed = change.changed(rows); changed > 0) {
    OUTBOX_RETURN_IF_ERROR(RecordAudit(connection_,
                                       {.action = change.action,
                                        .table = table_display_,
                                        .changed = changed,
                                        .audit = *change.audit},
                                       deadline, session));
  }
  return rows;
}

Result<std::optional<ListPosition>> PostgresInspectStore::FindPlace(const Scope& scope,
                                                                    const ListQuery& query,
                                                                    std::size_t rows,
                                                                    Deadline deadline) {
  const Query place = query.Place(rows);
  OUTBOX_ASSIGN_OR_RETURN(const Rows found, Ask(scope, place.sql, place.params, deadline));
  return query.ReadPlace(found);
}

Result<ListPage> PostgresInspectStore::ReadPage(const Scope& scope, const ListQuery& query,
                                                std::size_t limit, std::size_t offset,
                                                Deadline deadline) {
  const Query asked = query.Page(offset);
  OUTBOX_ASSIGN_OR_RETURN(const Rows rows, Ask(scope, asked.sql, asked.params, deadline));
  ListPage page;
  const int count = std::min(rows.size(), static_cast<int>(limit));
  for (int row = 0; row < count; ++row) {
    page.rows.push_back(ReadStoredMessage(rows, row, table_display_));
  }
  page.next = rows.size() > count ? query.NextAfter(page.rows.back()) : query.NextAfterEnd();
  return page;
}

Result<ListPage> PostgresInspectStore::List(const Scope& scope, const ListFilter& filter,
                                            Deadline deadline) {
  OUTBOX_RETURN_IF_ERROR(Validate(filter, scope));
  OUTBOX_ASSIGN_OR_RETURN(ListQuery query, ListQuery::Make(filter, scope));
  if (filter.limit == 0) return ListPage{};
  if (LooksAtRows(filter, scope)) {
    OUTBOX_ASSIGN_OR_RETURN(const auto end, FindPlace(scope, query, kLookedAtMax, deadline));
    query.set_end(end);
  }
  return ReadPage(scope, query, filter.limit, 0, deadline);
}

Result<NumberedPage> PostgresInspectStore::ListNumbered(const Scope& scope,
                                                        const ListFilter& filter,
                                                        std::size_t number, Deadline deadline) {
  OUTBOX_RETURN_IF_ERROR(Validate(filter, scope));
  OUTBOX_ASSIGN_OR_RETURN(std::size_t offset, OffsetOf(number, filter, scope));
  ListFilter from_start = filter;
  from_start.after.clear();
  OUTBOX_ASSIGN_OR_RETURN(ListQuery query, ListQuery::Make(from_start, scope));
  const bool looks = LooksAtRows(filter, scope);
  const std::size_t counted = looks ? kLookedAtMax : kTenantDeliveredCountMax;
  const Query count = query.Count(counted);
  OUTBOX_ASSIGN_OR_RETURN(const Rows total, Ask(scope, count.sql, count.params, deadline));
  NumberedPage page{.rows = {},
                    .next = {},
                    .total = total.Int8(0, 0),
                    .total_capped = total.Int8(0, 1) >= static_cast<std::int64_t>(counted)};
  if (looks) {
    OUTBOX_ASSIGN_OR_RETURN(const auto end, FindPlace(scope, query, kLookedAtMax, deadline));
    query.set_end(end);
  } else if (offset > 0) {
    OUTBOX_ASSIGN_OR_RETURN(const auto start, FindPlace(scope, query, offset, deadline));
    if (!start) return page;
    query.set_start(*start);
    offset = 0;
  }
  OUTBOX_ASSIGN_OR_RETURN(ListPage read, ReadPage(scope, query, filter.limit, offset, deadline));
  page.rows = std::move(read.rows);
  page.next = std::move(read.next);
  return page;
}

Result<std::optional<StoredMessage>> PostgresInspectStore::Get(const Scope& scope, const Uuid& id,
                                                               Deadline deadline) {
  Params params;
  params.UuidOrNull(id).UuidOrNull(scope.tenant());
  OUTBOX_ASSIGN_OR_RETURN(const Rows rows, Ask(scope, queries::kGetMessage, params, deadline));
  std::optional<StoredMessage> found;
  if (rows.size() == 0) return found;
  found = ReadStoredMessage(rows, 0, table_display_);
  OUTBOX_ASSIGN_OR_RETURN(const Rows deliveries,
                          Ask(scope, queries::kListDeliveries, params, deadline));
  for (int row = 0; row < deliveries.size(); ++row) {
    found->deliveries.push_back(ReadDelivery(deliveries, row));
  }
  return found;
}

Result<std::vector<Attempt>> PostgresInspectStore::Attempts(const Scope& scope, const Uuid& id,
                                                            Deadline deadline) {
  Params params;
  params.UuidOrNull(id).UuidOrNull(scope.tenant()).Int8(kAttemptsShownMax);
  OUTBOX_ASSIGN_OR_RETURN(const Rows rows, Ask(scope, queries::kListAttempts, params, deadline));
  std::vector<Attempt> attempts;
  for (int row = rows.size() - 1; row >= 0; --row) attempts.push_back(ReadAttempt(rows, row));
  return attempts;
}

Result<TableStats> PostgresInspectStore::Stats(const Scope& scope, bool exact, Deadline deadline) {
  return scope.tenant() ? StatsOfTenant(scope, exact, deadline) : StatsOfTable(exact, deadline);
}

Result<TableStats> PostgresInspectStore::StatsOfTenant(const Scope& scope, bool exact,
                                                       Deadline deadline) {
  Params params;
  params.UuidOrNull(scope.tenant());
  AddLimit(params, exact, kTenantLiveCountMax);
  AddLimit(params, exact, kTenantDeliveredCountMax);
  OUTBOX_ASSIGN_OR_RETURN(const Rows rows, Ask(scope, queries::kTenantStats, params, deadline));
  TableStats stats = ReadStats(rows);
  stats.capped = !exact && (rows.Int8(0, kLive) >= kTenantLiveCountMax ||
                            stats.delivered >= kTenantDeliveredCountMax);
  return stats;
}

Result<TableStats> PostgresInspectStore::StatsOfTable(bool exact, Deadline deadline) {
  const Scope all = Scope::All();
  Params params;
  AddLimit(params, exact, limits_.counted);
  AddLimit(params, exact, limits_.counted);
  OUTBOX_ASSIGN_OR_RETURN(const Rows rows, Ask(all, queries::kTableStats, params, deadline));
  TableStats stats = ReadStats(rows);
  if (exact) return stats;
  stats.live_estimated = rows.Int8(0, kLive) >= limits_.counted;
  stats.dead_estimated = stats.dead >= limits_.counted;
  stats.delivered_estimated = stats.delivered >= limits_.counted;
  const bool by_range = rows.Int4(0, kServerVersion) >= kTidRangeVersion;
  return EstimateStats(stats, [&](const SampleRange& range) -> Result<StatsSample> {
    Params sample;
    sample.Int8(range.closer ? limits_.pages_closer : limits_.pages);
    sample.Int8OrNull(range.from).Int8OrNull(range.until);
    sample.TimeOrNull(rows.TimeOrNull(0, kLastAvailableAt));
    sample.Int8(rows.null(0, kLastSeq) ? 0 : rows.Int8(0, kLastSeq));
    OUTBOX_ASSIGN_OR_RETURN(
        const Rows seen,
        Ask(all, by_range ? queries::kSamplePages : queries::kSamplePages13, sample, deadline));
    return ReadSample(seen);
  });
}

Result<RepairResult> PostgresInspectStore::RepairOne(const Scope& scope, const Repair& repair,
                                                     const Uuid& id, const Audit* audit,
                                                     Deadline deadline) {
  Params params;
  params.UuidOrNull(id).UuidOrNull(scope.tenant());
  const auto changed = [](const Rows& found) -> std::size_t {
    return found.size() > 0 && found.Bool(0, 1) ? 1 : 0;
  };
  OUTBOX_ASSIGN_OR_RETURN(
      const Rows rows, Do(scope, {repair.action, repair.by_id, params, audit, changed}, deadline));
  if (rows.size() == 0) return RepairResult{};
  const bool done = rows.Bool(0, 1);
  return RepairResult{
      .outcome = done ? RepairResult::Outcome::kDone : RepairResult::Outcome::kRefused,
      .status = ParseMessageStatus(rows.Text(0, 0)),
      .locked_until = rows.TimeOrNull(0, 2)};
}

Result<RepairResult> PostgresInspectStore::RetryOne(const Scope& scope, const Uuid& id,
                                                    const Audit* audit, Deadline deadline) {
  return RepairOne(scope, {"retry", queries::kRetryOne, {}, false, 1}, id, audit, deadline);
}

Result<RepairResult> PostgresInspectStore::DeleteOne(const Scope& scope, const Uuid& id,
                                                     const Audit* audit, Deadline deadline) {
  return RepairOne(scope, {"delete", queries::kDeleteOne, {}, false, 1}, id, audit, deadline);
}

Result<std::size_t> PostgresInspectStore::RepairMany(const Scope& scope, const RepairTarget& target,
                                                     const Repair& repair, Deadline deadline) {
  OUTBOX_RETURN_IF_ERROR(Validate(target));
  Params params;
  if (target.filter) {
    params.Bool(target.filter->status == ListStatus::kDead);
  } else {
    params.UuidArray(target.ids);
  }
  params.Int8(static_cast<std::int64_t>(repair.limit)).Bool(repair.dry_run);
  params.UuidOrNull(scope.tenant());
  if (const auto& filter = target.filter) {
    params.TextUnlessEmpty(filter->topic.empty() ? ""
                                                 : message::TopicPatternToRegex(filter->topic));
    params.TimeOrNull(filter->created_from).TimeOrNull(filter->created_until);
    params.TextUnlessEmpty(filter->error_contains);
  }
  const auto changed = [](const Rows& counted) {
    return static_cast<std::size_t>(counted.Int8(0, 0));
  };
  const Audit* audit = target.audit && !repair.dry_run ? &*target.audit : nullptr;
  const std::string_view sql = target.filter ? repair.filtered : repair.by_id;
  OUTBOX_ASSIGN_OR_RETURN(const Rows rows,
                          Do(scope, {repair.action, sql, params, audit, changed}, deadline));
  return changed(rows);
}

Result<std::size_t> PostgresInspectStore::Retry(const Scope& scope, const RepairTarget& target,
                                                bool dry_run, std::size_t limit,
                                                Deadline deadline) {
  return RepairMany(scope, target,
                    {"retry", queries::kRetryMessages, queries::kRetryFiltered, dry_run, limit},
                    deadline);
}

Result<std::size_t> PostgresInspectStore::Delete(const Scope& scope, const RepairTarget& target,
                                                 bool dry_run, std::size_t limit,
                                                 Deadline deadline) {
  return RepairMany(scope, target,
                    {"delete", queries::kDeleteMessages, queries::kDeleteFiltered, dry_run, limit},
                    deadline);
}

}  // namespace outbox::store::postgres
