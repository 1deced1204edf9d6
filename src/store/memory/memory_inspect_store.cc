#include "store/memory/memory_inspect_store.h"

#include <algorithm>
#include <utility>

#include "message/validate.h"
namespace outbox::store {
namespace {

bool InScope(const StoredMessage& row, const Scope& scope) {
  return !scope.tenant() || row.message.tenant_id == scope.tenant();
}

bool CreatedWithin(const StoredMessage& row, const std::optional<Timestamp>& from,
                   const std::optional<Timestamp>& until) {
  return (!from || row.message.created_at >= *from) && (!until || row.message.created_at < *until);
}

bool HasError(const StoredMessage& row, const std::string& text) {
  return text.empty() || row.last_error.find(text) != std::string::npos;
}

bool HasStatus(const StoredMessage& row, std::optional<ListStatus> status) {
  const StatusColumns columns = ColumnsOf(status);
  if (columns.status && ToString(row.status) != *columns.status) return false;
  return !columns.tried || (row.message.attempt > 0) == *columns.tried;
}

// What the orders that are not of an aggregate leave out.
bool InOrder(const StoredMessage& row, const ListFilter& filter, ListOrder order) {
  if (order == ListOrder::kAggregate) {
    return row.message.aggregate_type == filter.aggregate_type &&
           row.message.aggregate_id == filter.aggregate_id;
  }
  const TenantRows wanted = TenantRowsOf(filter);
  return row.processed_at ? wanted.delivered : wanted.live;
}

ListPosition PlaceOf(const StoredMessage& row, ListOrder order) {
  if (order == ListOrder::kLive) {
    return {row.message.available_at.time_since_epoch().count(), row.message.seq};
  }
  if (order == ListOrder::kDelivered) {
    return {row.processed_at->time_since_epoch().count(), row.message.seq};
  }
  return {0, row.message.seq};
}

// Ascending in the live order, descending in the others.
bool Before(const ListPosition& a, const ListPosition& b, ListOrder order) {
  const auto key = [](const ListPosition& place) { return std::pair(place.at, place.seq); };
  if (order == ListOrder::kLive) return key(a) < key(b);
  if (order == ListOrder::kDelivered) return key(a) > key(b);
  return a.seq > b.seq;
}

StoredMessage Shown(const StoredMessage& row, const ListFilter& filter) {
  StoredMessage shown = row;
  if (filter.whole) return shown;
  shown.message.payload.clear();
  shown.message.headers.clear();
  return shown;
}

bool Repairable(const StoredMessage& row, bool never_tried_too, Timestamp now) {
  if (row.status == MessageStatus::kDead) return true;
  if (row.status == MessageStatus::kProcessing) return row.locked_until && *row.locked_until < now;
  return row.status == MessageStatus::kPending && (never_tried_too || row.message.attempt > 0);
}

}  // namespace

std::vector<const StoredMessage*> MemoryInspectStore::Sorted(const Scope& scope,
                                                             const ListFilter& filter) const {
  const ListOrder order = OrderOf(filter, scope);
  std::vector<const StoredMessage*> rows;
  for (const auto& [seq, row] : store_.rows_) {
    if (InScope(row, scope) && InOrder(row, filter, order) && HasStatus(row, filter.status) &&
        (filter.topic.empty() || message::TopicMatches(filter.topic, row.message.topic)) &&
        (filter.key.empty() || row.message.key == filter.key) &&
        CreatedWithin(row, filter.created_from, filter.created_until) &&
        HasError(row, filter.error_contains)) {
      rows.push_back(&row);
    }
  }
  std::sort(rows.begin(), rows.end(), [&](const StoredMessage* a, const StoredMessage* b) {
    return Before(PlaceOf(*a, order), PlaceOf(*b, order), order);
  });
  return rows;
}

Result<ListPage> MemoryInspectStore::List(const Scope& scope, const ListFilter& filter, Deadline) {
  OUTBOX_RETURN_IF_ERROR(Validate(filter, scope));
  const ListOrder order = OrderOf(filter, scope);
  OUTBOX_ASSIGN_OR_RETURN(const ListPosition start, ReadPosition(order, filter.after));
  const std::lock_guard lock(store_.mutex_);
  ListPage page;
  if (filter.limit == 0) return page;
  for (const StoredMessage* row : Sorted(scope, filter)) {
    const ListPosition place = PlaceOf(*row, order);
    if (!Before(start, place, order)) continue;
    if (page.rows.size() == filter.limit) {
      page.next = WritePosition(order, PlaceOf(page.rows.back(), order));
      break;
    }
    page.rows.push_back(Shown(*row, filter));
  }
  return page;
}

Result<NumberedPage> MemoryInspectStore::ListNumbered(const Scope& scope, const ListFilter& filter,
                                                      std::size_t number, Deadline) {
  OUTBOX_RETURN_IF_ERROR(Validate(filter, scope));
  OUTBOX_ASSIGN_OR_RETURN(const std::size_t offset, OffsetOf(number, filter, scope));
  const std::lock_guard lock(store_.mutex_);
  const auto rows = Sorted(scope, filter);
  NumberedPage page;
  page.total = static_cast<std::int64_t>(rows.size());
  for (std::size_t i = offset; i < std::min(rows.size(), offset + filter.limit); ++i) {
    page.rows.push_back(Shown(*rows[i], filter));
  }
  if (rows.size() > offset + filter.limit) {
    page.next = WritePosition(ListOrder::kTenant, PlaceOf(page.rows.back(), ListOrder::kTenant));
  }
  return page;
}

Result<std::optional<StoredMessage>> MemoryInspectStore::Get(const Scope& scope, const Uuid& id,
                                                             Deadline) {
  std::optional<StoredMessage> found = store_.Find(id);
  if (found && !InScope(*found, scope)) found.reset();
  return found;
}

Result<std::vector<Attempt>> MemoryInspectStore::Attempts(const Scope& scope, const Uuid& id,
                                                          Deadline deadline) {
  std::vector<Attempt> attempts;
  OUTBOX_ASSIGN_OR_RETURN(const auto row, Get(scope, id, deadline));
  if (!row) return attempts;
  const std::lock_guard lock(store_.mutex_);
  const auto found = store_.attempts_.find(row->message.seq);
  if (found == store_.attempts_.end()) return attempts;
  const std::size_t count = std::min(found->second.size(), kAttemptsShownMax);
  attempts.assign(found->second.end() - static_cast<std::ptrdiff_t>(count), found->second.end());
  return attempts;
}

Result<TableStats> MemoryInspectStore::Stats(const Scope& scope, bool, Deadline) {
  const std::lock_guard lock(store_.mutex_);
  const Timestamp now = store_.Now();
  TableStats stats;
  for (const auto& [seq, row] : store_.rows_) {
    if (!InScope(row, scope)) continue;
    const bool due = !row.processed_at && row.message.available_at <= now;
    stats.pending += row.status == MessageStatus::kPending;
    stats.due += row.status == MessageStatus::kPending && due;
    stats.retrying += row.status == MessageStatus::kPending && row.message.attempt > 0;
    stats.processing += row.status == MessageStatus::kProcessing;
    stats.stale += row.status == MessageStatus::kProcessing && row.locked_until < now;
    stats.dead += row.status == MessageStatus::kDead;
    stats.delivered += row.status == MessageStatus::kDelivered;
    if (!due || row.locked_until.value_or(Timestamp::min()) >= now) continue;
    const auto age =
        std::chrono::duration_cast<std::chrono::milliseconds>(now - row.message.available_at);
    stats.oldest_age = std::max(stats.oldest_age.value_or(age), age);
  }
  return stats;
}

std::vector<std::int64_t> MemoryInspectStore::Targets(const Scope& scope,
                                                      const RepairTarget& target,
                                                      bool never_tried_too) const {
  std::vector<std::int64_t> seqs;
  for (const auto& [seq, row] : store_.rows_) {
    if (!InScope(row, scope) || !Repairable(row, never_tried_too, store_.Now())) continue;
    const auto& filter = target.filter;
    const bool wanted =
        filter
            ? HasStatus(row, filter->status) &&
                  (filter->topic.empty() ||
                   message::TopicMatches(filter->topic, row.message.topic)) &&
                  CreatedWithin(row, filter->created_from, filter->created_until) &&
                  HasError(row, filter->error_contains)
            : std::find(target.ids.begin(), target.ids.end(), row.message.id) != target.ids.end();
    if (wanted) seqs.push_back(seq);
  }
  return seqs;
}

void MemoryInspectStore::Reset(std::int64_t seq) {
  StoredMessage& row = store_.rows_.at(seq);
  row.status = MessageStatus::kPending;
  row.message.attempt = 0;
  row.message.available_at = store_.Now();
  row.locked_by.clear();
  row.locked_until.reset();
  row.updated_at = store_.Now();
}

void MemoryInspectStore::Change(Kind kind, std::int64_t seq) {
  if (kind == Kind::kRetry) {
    Reset(seq);
  } else {
    store_.Erase(seq);
  }
}

void MemoryInspectStore::Record(Kind kind, const Audit& audit, std::size_t changed) {
  store_.control().Record({.action = kind == Kind::kRetry ? "retry" : "delete",
                           .table = "memory",
                           .changed = changed,
                           .audit = audit});
}

Result<RepairResult> MemoryInspectStore::RepairOne(const Scope& scope, const Uuid& id, Kind kind,
                                                   const Audit* audit) {
  const std::lock_guard lock(store_.mutex_);
  for (const auto& [seq, row] : store_.rows_) {
    if (row.message.id != id || !InScope(row, scope)) continue;
    RepairResult result{.outcome = RepairResult::Outcome::kRefused,
                        .status = row.status,
                        .locked_until = row.locked_until};
    const bool deletable = kind == Kind::kDelete && row.status == MessageStatus::kDelivered;
    if (deletable || Repairable(row, kind == Kind::kDelete, store_.Now())) {
      result.outcome = RepairResult::Outcome::kDone;
      Change(kind, seq);
      if (audit != nullptr) Record(kind, *audit, 1);
    }
    return result;
  }
  return RepairResult{};
}

Result<std::size_t> MemoryInspectStore::Repair(const Scope& scope, const RepairTarget& target,
                                               bool dry_run, std::size_t limit, Kind kind) {
  OUTBOX_RETURN_IF_ERROR(Validate(target));
  const std::lock_guard lock(store_.mutex_);
  auto seqs = Targets(scope, target, kind == Kind::kDelete);
  if (seqs.size() > limit) seqs.resize(limit);
  if (dry_run) return seqs.size();
  for (const std::int64_t seq : seqs) Change(kind, seq);
  if (target.audit && !seqs.empty()) Record(kind, *target.audit, seqs.size());
  return seqs.size();
}

Result<RepairResult> MemoryInspectStore::RetryOne(const Scope& scope, const Uuid& id,
                                                  const Audit* audit, Deadline) {
  return RepairOne(scope, id, Kind::kRetry, audit);
}

Result<RepairResult> MemoryInspectStore::DeleteOne(const Scope& scope, const Uuid& id,
                                                   const Audit* audit, Deadline) {
  return RepairOne(scope, id, Kind::kDelete, audit);
}

Result<std::size_t> MemoryInspectStore::Retry(const Scope& scope, const RepairTarget& target,
                                              bool dry_run, std::size_t limit, Deadline) {
  return Repair(scope, target, dry_run, limit, Kind::kRetry);
}

Result<std::size_t> MemoryInspectStore::Delete(const Scope& scope, const RepairTarget& target,
                                               bool dry_run, std::size_t limit, Deadline) {
  return Repair(scope, target, dry_run, limit, Kind::kDelete);
}

}  // namespace outbox::store
