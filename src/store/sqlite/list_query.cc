#include "store/sqlite/list_query.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "base/text.h"
#include "sql/sqlite.h"
#include "store/sqlite/table.h"

namespace outbox::store::sqlite {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
// Rows looked at for one page.
constexpr std::int64_t kScanMax = 100'000;
// Columns of the list queries after those of a stored message.
constexpr int kWanted = 22;

// Where a page starts: after this row in the order of its query.
struct Position {
  std::int64_t at;  // available_at or processed_at; 0 in the orders by seq alone
  std::int64_t seq;
};

enum class Order : std::uint8_t { kLive, kDead, kDelivered, kAggregate, kTenant };

Order ChooseOrder(const ListFilter& filter) {
  if (!filter.aggregate_id.empty()) return Order::kAggregate;
  if (filter.tenant_id) return Order::kTenant;
  if (filter.status == MessageStatus::kDelivered) return Order::kDelivered;
  if (filter.status == MessageStatus::kDead) return Order::kDead;
  return Order::kLive;
}

std::string_view StatementOf(Order order) {
  switch (order) {
    case Order::kLive: return sql::sqlite::kListLive;
    case Order::kDead: return sql::sqlite::kListDead;
    case Order::kDelivered: return sql::sqlite::kListDelivered;
    case Order::kAggregate: return sql::sqlite::kListAggregate;
    case Order::kTenant: return sql::sqlite::kListTenant;
  }
  return {};
}

Position FirstPosition(Order order) {
  const bool ascending = order == Order::kLive || order == Order::kDead;
  return ascending ? Position{std::numeric_limits<std::int64_t>::min(), 0}
                   : Position{kLargest, kLargest};
}

// "<at>-<seq>"
std::string FormatPosition(const Position& position) {
  return base::StrCat(position.at, "-", position.seq);
}

Result<Position> ParsePosition(std::string_view text) {
  Position position{};
  const char* end = text.data() + text.size();
  const auto at = std::from_chars(text.data(), end, position.at);
  if (at.ec == std::errc() && at.ptr != end && *at.ptr == '-') {
    const auto seq = std::from_chars(at.ptr + 1, end, position.seq);
    if (seq.ec == std::errc() && seq.ptr == end) return position;
  }
  return Status::Invalid(
             base::StrCat("after: '", base::CleanError(text, 60), "' is not a page position"))
      .WithHint("pass the `next` of the page before, unchanged");
}

std::optional<std::string_view> Given(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return text;
}

Position PositionOf(const Query& row, Order order) {
  constexpr int kSeq = 0;
  constexpr int kAvailableAt = 15;
  constexpr int kProcessedAt = 21;
  const std::int64_t seq = row.Int(kSeq);
  if (order == Order::kLive || order == Order::kDead) return {row.Int(kAvailableAt), seq};
  if (order == Order::kDelivered) return {row.Int(kProcessedAt), seq};
  return {0, seq};
}

Result<ListPage> ReadPage(Query& query, const message::TableName& table, Order order,
                          std::size_t limit) {
  ListPage page;
  Position last{};
  for (std::int64_t seen = 0;; ++seen) {
    OUTBOX_ASSIGN_OR_RETURN(const bool found, query.Step());
    const bool full = page.rows.size() == limit || seen == kScanMax;
    if (found && full) page.next = FormatPosition(last);
    if (!found || full) return page;
    last = PositionOf(query, order);
    if (query.Int(kWanted) != 0) page.rows.push_back(ReadStored(query, table));
  }
}

}  // namespace

Result<ListPage> ListMessages(Connection& connection, const message::TableName& table,
                              const ListFilter& filter) {
  Order order = ChooseOrder(filter);
  Position start = FirstPosition(order);
  if (!filter.after.empty()) {
    OUTBOX_ASSIGN_OR_RETURN(start, ParsePosition(filter.after));
    // The live ones are behind this page; what follows is the dead.
    if (order == Order::kLive && start.at == kLargest) order = Order::kDead;
  }
  std::optional<std::string_view> status;
  if (filter.status) status = ToString(*filter.status);
  const std::string tenant = filter.tenant_id ? filter.tenant_id->ToString() : "";

  const std::string sql = Render(table, StatementOf(order));
  OUTBOX_ASSIGN_OR_RETURN(Query query, connection.Prepare(sql));
  query.Bind(1, start.at)
      .Bind(2, start.seq)
      .Bind(3, kScanMax + 1)
      .Bind(4, status)
      .Bind(5, Given(filter.topic))
      .Bind(6, Given(tenant))
      .Bind(7, Given(filter.key));
  if (order == Order::kAggregate) {
    query.Bind(8, filter.aggregate_type).Bind(9, filter.aggregate_id);
  }
  return ReadPage(query, table, order, std::max<std::size_t>(filter.limit, 1));
}

}  // namespace outbox::store::sqlite
