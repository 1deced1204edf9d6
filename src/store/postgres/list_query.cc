#include "store/postgres/list_query.h"

#include <charconv>
#include <limits>
#include <optional>

#include "base/text.h"
#include "sql/postgres.h"

namespace outbox::store::postgres {
namespace {

namespace queries = sql::postgres;

// Each kind has an order, and a statement, of its own.
enum class ListKind : char { kLive = 'l', kDelivered = 'd', kAggregate = 'a', kTenant = 't' };

ListKind KindOf(const ListFilter& filter) {
  if (!filter.aggregate_type.empty() && !filter.aggregate_id.empty()) return ListKind::kAggregate;
  if (filter.tenant_id) return ListKind::kTenant;
  return filter.status == MessageStatus::kDelivered ? ListKind::kDelivered : ListKind::kLive;
}

struct Position {
  Timestamp at{};
  std::int64_t seq = 0;
};

Position FirstOf(ListKind kind) {
  if (kind == ListKind::kLive) return {Timestamp::min(), 0};
  return {Timestamp::max(), std::numeric_limits<std::int64_t>::max()};
}

template <typename T>
bool ParseInteger(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// "<kind>.<microseconds>.<seq>"
Result<Position> ReadPosition(ListKind kind, const std::string& text) {
  if (text.empty()) return FirstOf(kind);
  const auto parts = base::Split(text, '.');
  std::int64_t micros = 0;
  Position position;
  if (parts.size() != 3 || parts[0] != std::string(1, static_cast<char>(kind)) ||
      !ParseInteger(parts[1], micros) || !ParseInteger(parts[2], position.seq)) {
    return Status::Invalid("after: is not the position of a page of this list")
        .WithHint("take it from the page before, with the same filter");
  }
  position.at = Timestamp(std::chrono::microseconds(micros));
  return position;
}

void AddStatus(Params& params, const ListFilter& filter) {
  if (filter.status) {
    params.Text(ToString(*filter.status));
  } else {
    params.Null();
  }
}

Params LiveParams(const ListFilter& filter, const Position& after, std::int64_t limit) {
  Params params;
  params.Int8(limit).Time(after.at).Int8(after.seq);
  AddStatus(params, filter);
  params.TextUnlessEmpty(filter.topic).TextUnlessEmpty(filter.key).UuidOrNull(filter.tenant_id);
  if (filter.status == MessageStatus::kDelivered) return params;
  if (filter.status) {
    params.Bool(filter.status == MessageStatus::kDead);
  } else {
    params.Null();
  }
  return params;
}

Params AggregateParams(const ListFilter& filter, const Position& after, std::int64_t limit) {
  Params params;
  params.Int8(limit).Int8(after.seq).Text(filter.aggregate_type).Text(filter.aggregate_id);
  AddStatus(params, filter);
  params.TextUnlessEmpty(filter.topic).TextUnlessEmpty(filter.key).UuidOrNull(filter.tenant_id);
  return params;
}

Params TenantParams(const ListFilter& filter, const Position& after, std::int64_t limit) {
  Params params;
  params.Int8(limit).Int8(after.seq).UuidOrNull(filter.tenant_id);
  AddStatus(params, filter);
  params.TextUnlessEmpty(filter.topic).TextUnlessEmpty(filter.key);
  return params;
}

}  // namespace

Result<ListQuery> MakeListQuery(const ListFilter& filter) {
  const ListKind kind = KindOf(filter);
  OUTBOX_ASSIGN_OR_RETURN(const Position after, ReadPosition(kind, filter.after));
  const auto limit = static_cast<std::int64_t>(filter.limit) + 1;
  switch (kind) {
    case ListKind::kLive: return ListQuery{queries::kListLive, LiveParams(filter, after, limit)};
    case ListKind::kDelivered:
      return ListQuery{queries::kListDelivered, LiveParams(filter, after, limit)};
    case ListKind::kAggregate:
      return ListQuery{queries::kListAggregate, AggregateParams(filter, after, limit)};
    case ListKind::kTenant:
      return ListQuery{filter.status == MessageStatus::kDelivered ? queries::kListTenant
                                                                  : queries::kListTenantLive,
                       TenantParams(filter, after, limit)};
  }
  return Status::Permanent(Code::kInternal, "unknown kind of list");
}

std::string PositionAfter(const ListFilter& filter, const StoredMessage& last) {
  const ListKind kind = KindOf(filter);
  const Timestamp at = kind == ListKind::kDelivered ? last.processed_at.value_or(Timestamp::max())
                                                    : last.message.available_at;
  return base::StrCat(static_cast<char>(kind), ".", at.time_since_epoch().count(), ".",
                      last.message.seq);
}

}  // namespace outbox::store::postgres
