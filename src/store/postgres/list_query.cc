#include "store/postgres/list_query.h"

#include <limits>

#include "message/validate.h"
#include "sql/postgres.h"

namespace outbox::store::postgres {
namespace {

namespace queries = sql::postgres;

constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();

Timestamp AtTime(std::int64_t micros) { return Timestamp(std::chrono::microseconds(micros)); }

std::string TopicRegex(const std::string& pattern) {
  return pattern.empty() ? "" : message::TopicPatternToRegex(pattern);
}

std::string_view PageStatement(ListOrder order) {
  switch (order) {
    case ListOrder::kLive: return queries::kListLive;
    case ListOrder::kDelivered: return queries::kListDelivered;
    case ListOrder::kAggregate: return queries::kListAggregate;
    case ListOrder::kTenant: return queries::kListTenant;
  }
  return {};
}

std::string_view PlaceStatement(ListOrder order) {
  switch (order) {
    case ListOrder::kLive: return queries::kPlaceLive;
    case ListOrder::kDelivered: return queries::kPlaceDelivered;
    case ListOrder::kAggregate: return queries::kPlaceAggregate;
    case ListOrder::kTenant: return queries::kPlaceTenant;
  }
  return {};
}

}  // namespace

ListQuery::ListQuery(const ListFilter& filter, const Scope& scope)
    : filter_(filter), scope_(scope), order_(OrderOf(filter, scope)) {}

Result<ListQuery> ListQuery::Make(const ListFilter& filter, const Scope& scope) {
  ListQuery query(filter, scope);
  OUTBOX_ASSIGN_OR_RETURN(query.start_, ReadPosition(query.order_, filter.after));
  // The dead stand together at the end; a scan that starts there does not pass the backlog.
  const std::int64_t dead_at = Timestamp::max().time_since_epoch().count();
  if (query.order_ == ListOrder::kLive && filter.status == ListStatus::kDead &&
      query.start_.at < dead_at) {
    query.start_ = {dead_at, 0};
  }
  return query;
}

void ListQuery::AddFilter(Params& params) const {
  StatusColumns columns = ColumnsOf(filter_.status);
  // The index knows what was delivered: the rows need not be read for it.
  if (order_ == ListOrder::kTenant && filter_.status == ListStatus::kDelivered) columns = {};
  params.TextUnlessEmpty(columns.status.value_or("")).BoolOrNull(columns.tried);
  params.TextUnlessEmpty(TopicRegex(filter_.topic)).TextUnlessEmpty(filter_.key);
  params.TimeOrNull(filter_.created_from).TimeOrNull(filter_.created_until);
  params.TextUnlessEmpty(filter_.error_contains);
}

void ListQuery::AddDead(Params& params) const {
  std::optional<bool> dead;
  if (filter_.status) dead = filter_.status == ListStatus::kDead;
  params.BoolOrNull(dead);
}

Query ListQuery::Place(std::size_t rows) const {
  const auto count = static_cast<std::int64_t>(rows);
  Params params;
  switch (order_) {
    case ListOrder::kLive:
      params.Time(AtTime(start_.at)).Int8(start_.seq).Int8(count);
      AddDead(params);
      break;
    case ListOrder::kDelivered: params.Time(AtTime(start_.at)).Int8(start_.seq).Int8(count); break;
    case ListOrder::kAggregate:
      params.Int8(start_.seq).Int8(count);
      params.Text(filter_.aggregate_type).Text(filter_.aggregate_id);
      break;
    case ListOrder::kTenant: {
      const TenantRows wanted = TenantRowsOf(filter_);
      params.UuidOrNull(scope_.tenant()).Int8(start_.seq).Int8(count);
      params.Bool(wanted.live).Bool(wanted.delivered);
      break;
    }
  }
  return {PlaceStatement(order_), std::move(params)};
}

std::optional<ListPosition> ListQuery::ReadPlace(const Rows& rows) const {
  if (rows.size() == 0) return std::nullopt;
  switch (order_) {
    case ListOrder::kLive:
      return ListPosition{rows.Time(0, 0).time_since_epoch().count(), rows.Int8(0, 1)};
    // All rows of that moment are looked at.
    case ListOrder::kDelivered: return ListPosition{rows.Time(0, 0).time_since_epoch().count(), 0};
    case ListOrder::kAggregate:
    case ListOrder::kTenant: break;
  }
  return ListPosition{0, rows.Int8(0, 0)};
}

Params ListQuery::PageParams(std::size_t offset) const {
  Params params;
  params.Int8(static_cast<std::int64_t>(filter_.limit) + 1);
  AddFilter(params);
  switch (order_) {
    case ListOrder::kLive:
      params.Time(AtTime(start_.at)).Int8(start_.seq);
      params.Time(end_ ? AtTime(end_->at) : Timestamp::max()).Int8(end_ ? end_->seq : kLast);
      AddDead(params);
      break;
    case ListOrder::kDelivered:
      params.Time(AtTime(start_.at)).Int8(start_.seq);
      params.Time(end_ ? AtTime(end_->at) : Timestamp::min());
      break;
    case ListOrder::kAggregate:
      params.Int8(start_.seq).Int8(end_ ? end_->seq : 0);
      params.Text(filter_.aggregate_type).Text(filter_.aggregate_id).UuidOrNull(scope_.tenant());
      break;
    case ListOrder::kTenant: {
      const TenantRows wanted = TenantRowsOf(filter_);
      params.UuidOrNull(scope_.tenant()).Int8(start_.seq).Int8(end_ ? end_->seq : 0);
      params.Int8(static_cast<std::int64_t>(offset)).Bool(wanted.live).Bool(wanted.delivered);
      break;
    }
  }
  params.Bool(filter_.whole);
  return params;
}

Query ListQuery::Page(std::size_t offset) const {
  return {PageStatement(order_), PageParams(offset)};
}

Query ListQuery::Count(std::size_t rows) const {
  const TenantRows wanted = TenantRowsOf(filter_);
  Params params;
  params.Int8(static_cast<std::int64_t>(rows));
  AddFilter(params);
  params.UuidOrNull(scope_.tenant()).Bool(wanted.live).Bool(wanted.delivered);
  return {queries::kCountTenant, std::move(params)};
}

std::string ListQuery::NextAfter(const StoredMessage& last) const {
  const bool delivered = order_ == ListOrder::kDelivered;
  const Timestamp at =
      delivered ? last.processed_at.value_or(Timestamp::max()) : last.message.available_at;
  return WritePosition(order_, {at.time_since_epoch().count(), last.message.seq});
}

std::string ListQuery::NextAfterEnd() const {
  if (!end_) return {};
  // Nothing is delivered before it is created: what follows is too old.
  const bool too_old = order_ == ListOrder::kDelivered && filter_.created_from &&
                       end_->at < filter_.created_from->time_since_epoch().count();
  return too_old ? std::string() : WritePosition(order_, *end_);
}

}  // namespace outbox::store::postgres
