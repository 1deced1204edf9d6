#include "store/refused_rows.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace outbox::store {

std::size_t RefusedRows::Begin(std::size_t wanted) {
  in_this_claim_ = 0;
  limit_ = std::min(wanted, limit_max_);
  return limit_;
}

RefusedRows::Next RefusedRows::OnRefused() {
  if (limit_ > 1) {
    limit_ = limit_max_ = limit_ / 2;
    return Next::kSmaller;
  }
  if (rows_.size() >= kRowsMax) return Next::kFail;
  return in_this_claim_ < kRowsPerClaim ? Next::kFindFirst : Next::kStop;
}

void RefusedRows::OnClaimed() noexcept {
  if (limit_max_ == SIZE_MAX) return;
  limit_max_ = limit_max_ > SIZE_MAX / 2 || rows_.empty() ? SIZE_MAX : limit_max_ * 2;
}

void RefusedRows::SetAside(std::int64_t seq, std::string_view what, const Status& why,
                           Clock::time_point now) {
  DropOld(now);
  ++in_this_claim_;
  Entry& entry = rows_[seq];
  entry.wait = std::clamp(entry.wait * 2, kWaitMin, kWaitMax);
  entry.until = now + entry.wait;
  told_.push_back(
      {Status::Permanent(why.code(),
                         base::StrCat(what,
                                      " can not be claimed: the database refuses to change "
                                      "its row. The others go on"))
           .WithHint("look for a trigger or a check on the table that says no to an UPDATE")
           .WithNative(why.native()),
       entry.wait});
}

// A row that was not refused again by then is claimed, or gone.
void RefusedRows::DropOld(Clock::time_point now) {
  std::erase_if(rows_, [&](const auto& each) { return each.second.until + 2 * kWaitMax < now; });
}

std::vector<std::int64_t> RefusedRows::Aside(Clock::time_point now) const {
  std::vector<std::int64_t> seqs;
  for (const auto& [seq, entry] : rows_) {
    if (entry.until > now) seqs.push_back(seq);
  }
  return seqs;
}

std::vector<RefusedRow> RefusedRows::Take() { return std::exchange(told_, {}); }

}  // namespace outbox::store
