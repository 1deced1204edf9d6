#include "store/postgres/claimed_messages.h"

#include <algorithm>
#include <compare>
#include <limits>

#include "store/postgres/wire.h"

namespace outbox::store::postgres {
namespace {

// A row's place in the order in which messages are due, and its number.
struct DueRow {
  std::int64_t available_at;
  std::int64_t seq;
  int row;

  auto operator<=>(const DueRow&) const = default;
};

std::vector<DueRow> InDueOrder(const Rows& rows) {
  std::vector<DueRow> order;
  order.reserve(static_cast<std::size_t>(rows.size()));
  for (int row = 0; row < rows.size(); ++row) {
    if (rows.null(row, MessageColumns::kId)) continue;  // nothing was claimed
    order.push_back(
        {rows.Int8(row, MessageColumns::kAvailableAt), rows.Int8(row, MessageColumns::kSeq), row});
  }
  std::sort(order.begin(), order.end());
  return order;
}

}  // namespace

Message ClaimedMessages::Read(int row) const {
  Message message = ReadMessage(rows_, row, table_);
  message.destination = destination_;
  message.in_doubt = rows_.Bool(row, ClaimColumns::kInDoubt);
  return message;
}

const std::vector<Message>& ClaimedMessages::get() const {
  std::call_once(made_, [&] {
    messages_.reserve(order_.size());
    for (const int row : order_) {
      messages_.push_back(Read(row));
      if (attempts_more_ == 0) continue;
      constexpr int kMost = std::numeric_limits<int>::max();
      messages_.back().attempt =
          std::clamp(messages_.back().attempt, 0, kMost - attempts_more_) + attempts_more_;
    }
  });
  return messages_;
}

Found ReadClaimed(Rows claimed, const std::string& table, const std::string& destination,
                  int attempts_more) {
  Found found;
  found.messages =
      std::make_unique<ClaimedMessages>(std::move(claimed), table, destination, attempts_more);
  const Rows& rows = found.messages->rows();
  found.rows.reserve(static_cast<std::size_t>(rows.size()));
  if (rows.size() > 0 && rows.columns() > ClaimColumns::kClaimedAt) {
    found.claimed_at = rows.Time(0, ClaimColumns::kClaimedAt);
  }
  const bool deliveries = rows.columns() > ClaimColumns::kOrdered;
  if (deliveries && !rows.null(0, ClaimColumns::kLookedAt)) {
    found.looked = {rows.Time(0, ClaimColumns::kLookedAt), rows.Int8(0, ClaimColumns::kLookedSeq)};
  }
  for (const auto& [available_at, seq, row] : InDueOrder(rows)) {
    const Tid tid = rows.TidAt(row, ClaimColumns::kTid);
    const bool ordered = deliveries && rows.Bool(row, ClaimColumns::kOrdered);
    if (rows.Bool(row, ClaimColumns::kExhausted)) {
      if (ordered) found.exhausted_keys.emplace_back(rows.Text(row, MessageColumns::kKey));
      found.exhausted.push_back(found.messages->Read(row));
      found.exhausted_tids.push_back(tid);
      continue;
    }
    found.messages->Add(row);
    found.rows.push_back({.seq = seq, .tid = tid, .ordered = ordered});
    found.last = {wire::ToTimestamp(available_at), seq};
    found.any_in_doubt = found.any_in_doubt || rows.Bool(row, ClaimColumns::kInDoubt);
  }
  return found;
}

}  // namespace outbox::store::postgres
