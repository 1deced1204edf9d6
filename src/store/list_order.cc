#include "store/list_order.h"

#include <charconv>
#include <limits>
#include <string_view>

#include "base/text.h"

namespace outbox::store {
namespace {

bool ParseWhole(std::string_view text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

ListOrder OrderOf(const ListFilter& filter, const Scope& scope) noexcept {
  if (!filter.aggregate_type.empty() && !filter.aggregate_id.empty()) return ListOrder::kAggregate;
  if (scope.tenant()) return ListOrder::kTenant;
  return filter.status == ListStatus::kDelivered ? ListOrder::kDelivered : ListOrder::kLive;
}

TenantRows TenantRowsOf(const ListFilter& filter) noexcept {
  if (filter.status == ListStatus::kAll) return {.live = true, .delivered = true};
  const bool delivered = filter.status == ListStatus::kDelivered;
  return {.live = !delivered, .delivered = delivered};
}

bool LooksAtRows(const ListFilter& filter, const Scope& scope) noexcept {
  if (!filter.topic.empty() || !filter.key.empty() || !filter.error_contains.empty() ||
      filter.created_from || filter.created_until) {
    return true;
  }
  switch (OrderOf(filter, scope)) {
    case ListOrder::kLive: return filter.status && filter.status != ListStatus::kDead;
    case ListOrder::kDelivered: return false;
    case ListOrder::kTenant:
      return filter.status && filter.status != ListStatus::kDelivered &&
             filter.status != ListStatus::kAll;
    case ListOrder::kAggregate:
      return scope.tenant() || (filter.status && filter.status != ListStatus::kAll);
  }
  return true;
}

std::string WritePosition(ListOrder order, const ListPosition& position) {
  return base::StrCat(static_cast<char>(order), ".", position.at, ".", position.seq);
}

Result<ListPosition> ReadPosition(ListOrder order, const std::string& text) {
  using Limits = std::numeric_limits<std::int64_t>;
  if (text.empty()) {
    if (order == ListOrder::kLive) return ListPosition{Limits::min(), 0};
    return ListPosition{Limits::max(), Limits::max()};
  }
  const auto parts = base::Split(text, '.');
  ListPosition position;
  if (parts.size() != 3 || parts[0] != std::string(1, static_cast<char>(order)) ||
      !ParseWhole(parts[1], position.at) || !ParseWhole(parts[2], position.seq)) {
    return Status::Invalid("after: is not the position of a page of this list")
        .WithHint("take it from the page before, with the same filter");
  }
  return position;
}

Result<std::size_t> OffsetOf(std::size_t number, const ListFilter& filter, const Scope& scope) {
  if (OrderOf(filter, scope) != ListOrder::kTenant) {
    return Status::Invalid("page: only the messages of one tenant are listed by page number")
        .WithHint("use `after` with the `next` of the page before");
  }
  if (number == 0) return Status::Invalid("page: is 0").WithHint("the first page is 1");
  if (filter.limit == 0) return Status::Invalid("page_size: is 0").WithHint("use 1 or more");
  if (number - 1 > kNumberedRowsMax / filter.limit) {
    return Status::Invalid(base::StrCat("page: ", number, " is beyond the first ", kNumberedRowsMax,
                                        " messages"))
        .WithHint("use `after` with the `next` of the page before");
  }
  return (number - 1) * filter.limit;
}

}  // namespace outbox::store
