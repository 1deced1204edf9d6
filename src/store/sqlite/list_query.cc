#include "store/sqlite/list_query.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "sql/sqlite.h"
#include "store/list_order.h"
#include "store/sqlite/table.h"

namespace outbox::store::sqlite {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
// Rows looked at for one page, and for one count.
constexpr std::int64_t kScanMax = 100'000;
// Columns of the list queries after those of a stored message.
constexpr int kWanted = 22;

std::string_view StatementOf(ListOrder order, bool dead) {
  switch (order) {
    case ListOrder::kLive: return dead ? sql::sqlite::kListDead : sql::sqlite::kListLive;
    case ListOrder::kDelivered: return sql::sqlite::kListDelivered;
    case ListOrder::kAggregate: return sql::sqlite::kListAggregate;
    case ListOrder::kTenant: return sql::sqlite::kListTenant;
  }
  return {};
}

std::optional<std::string_view> Given(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return text;
}

ListPosition PositionOf(const Query& row, ListOrder order) {
  constexpr int kSeq = 0;
  constexpr int kAvailableAt = 15;
  constexpr int kProcessedAt = 21;
  const std::int64_t seq = row.Int(kSeq);
  if (order == ListOrder::kLive) return {row.Int(kAvailableAt), seq};
  if (order == ListOrder::kDelivered) return {row.Int(kProcessedAt), seq};
  return {0, seq};
}

// One list: its filter in the words of the queries. Text is bound as views into it.
class List {
 public:
  List(Connection& connection, const message::TableName& table, const Scope& scope,
       const ListFilter& filter)
      : connection_(connection),
        table_(table),
        filter_(filter),
        order_(OrderOf(filter, scope)),
        columns_(ColumnsOf(filter.status)),
        tenant_(scope.tenant() ? scope.tenant()->ToString() : "") {}

  Result<ListPage> Read(ListPosition start, std::size_t offset) {
    // Behind the live ones come the dead.
    const bool dead = filter_.status == ListStatus::kDead || start.at == kLargest;
    const std::string sql = Render(table_, StatementOf(order_, dead));
    OUTBOX_ASSIGN_OR_RETURN(Query query, connection_.Prepare(sql));
    Bind(query);
    query.Bind(1, start.at).Bind(2, start.seq).Bind(3, kScanMax + 1);
    query.Bind(16, filter_.whole ? 1 : 0);
    return ReadPage(query, offset);
  }

  Result<std::optional<ListPosition>> FindPlace(std::size_t rows) {
    const TenantRows wanted = TenantRowsOf(filter_);
    OUTBOX_ASSIGN_OR_RETURN(Query query,
                            connection_.Prepare(Render(table_, sql::sqlite::kPlaceTenant)));
    query.Bind(1, tenant_).Bind(2, static_cast<std::int64_t>(rows));
    query.Bind(3, wanted.live ? 1 : 0).Bind(4, wanted.delivered ? 1 : 0);
    OUTBOX_ASSIGN_OR_RETURN(const bool found, query.Step());
    if (!found) return std::optional<ListPosition>();
    return std::optional(ListPosition{0, query.Int(0)});
  }

  Status Count(NumberedPage& page) {
    OUTBOX_ASSIGN_OR_RETURN(Query query,
                            connection_.Prepare(Render(table_, sql::sqlite::kCountTenant)));
    Bind(query);
    query.Bind(3, kScanMax);
    OUTBOX_RETURN_IF_ERROR(query.Step().error());
    page.total = query.Int(0);
    page.total_capped = query.Int(1) >= kScanMax;
    return Status::Ok();
  }

 private:
  static std::optional<std::int64_t> Millis(const std::optional<Timestamp>& at) {
    if (!at) return std::nullopt;
    return std::chrono::ceil<std::chrono::milliseconds>(*at).time_since_epoch().count();
  }

  void Bind(Query& query) {
    std::optional<std::int64_t> tried;
    if (columns_.tried) tried = *columns_.tried ? 1 : 0;
    query.Bind(4, columns_.status).Bind(5, Given(filter_.topic)).Bind(6, Given(tenant_));
    query.Bind(7, Given(filter_.key)).Bind(10, tried);
    query.Bind(11, Millis(filter_.created_from)).Bind(12, Millis(filter_.created_until));
    query.Bind(13, Given(filter_.error_contains));
    if (order_ == ListOrder::kAggregate) {
      query.Bind(8, filter_.aggregate_type).Bind(9, filter_.aggregate_id);
    }
    if (order_ == ListOrder::kTenant) {
      const TenantRows wanted = TenantRowsOf(filter_);
      query.Bind(14, wanted.live ? 1 : 0).Bind(15, wanted.delivered ? 1 : 0);
    }
  }

  Result<ListPage> ReadPage(Query& query, std::size_t offset) {
    const std::size_t limit = std::max<std::size_t>(filter_.limit, 1);
    ListPage page;
    ListPosition last{};
    for (std::int64_t seen = 0;; ++seen) {
      OUTBOX_ASSIGN_OR_RETURN(const bool found, query.Step());
      const bool full = page.rows.size() == limit || seen == kScanMax;
      if (found && full) page.next = WritePosition(order_, last);
      if (!found || full) return page;
      last = PositionOf(query, order_);
      if (query.Int(kWanted) == 0) continue;
      if (offset > 0) {
        --offset;
      } else {
        page.rows.push_back(ReadStored(query, table_));
      }
    }
  }

  Connection& connection_;
  const message::TableName& table_;
  const ListFilter& filter_;
  const ListOrder order_;
  const StatusColumns columns_;
  const std::string tenant_;
};

}  // namespace

Result<ListPage> ListMessages(Connection& connection, const message::TableName& table,
                              const Scope& scope, const ListFilter& filter) {
  OUTBOX_RETURN_IF_ERROR(Validate(filter, scope));
  OUTBOX_ASSIGN_OR_RETURN(const ListPosition start,
                          ReadPosition(OrderOf(filter, scope), filter.after));
  return List(connection, table, scope, filter).Read(start, 0);
}

Result<NumberedPage> ListNumberedMessages(Connection& connection, const message::TableName& table,
                                          const Scope& scope, const ListFilter& filter,
                                          std::size_t number) {
  OUTBOX_RETURN_IF_ERROR(Validate(filter, scope));
  OUTBOX_ASSIGN_OR_RETURN(std::size_t offset, OffsetOf(number, filter, scope));
  List list(connection, table, scope, filter);
  NumberedPage page;
  OUTBOX_RETURN_IF_ERROR(list.Count(page));
  ListPosition start{0, kLargest};
  if (!LooksAtRows(filter, scope) && offset > 0) {
    OUTBOX_ASSIGN_OR_RETURN(const auto place, list.FindPlace(offset));
    if (!place) return page;
    start = *place;
    offset = 0;
  }
  OUTBOX_ASSIGN_OR_RETURN(ListPage read, list.Read(start, offset));
  page.rows = std::move(read.rows);
  page.next = std::move(read.next);
  return page;
}

}  // namespace outbox::store::sqlite
