#include "store/sqlite/delivery_scan.h"

#include <algorithm>
#include <chrono>

namespace outbox::store::sqlite {
namespace {

// How many rows a look takes first, for each it asks for, and at most; and for how long it goes on
// while it meets only such as have to wait.
constexpr std::size_t kPageFactor = 2;
constexpr std::size_t kPageGrowth = 4;
constexpr std::size_t kPageMax = 20'000;
constexpr std::chrono::milliseconds kLookFor{200};

void AddNew(std::vector<std::int64_t>& seqs, std::int64_t seq) {
  if (std::ranges::find(seqs, seq) == seqs.end()) seqs.push_back(seq);
}

}  // namespace

Result<std::vector<std::int64_t>> DeliveryScan::Next(Connection& connection,
                                                     const LeaseTable& table,
                                                     const ClaimRequest& request, SettledKeys& keys,
                                                     Deadline deadline) {
  if (request.from_start) floor_.Reset();
  const Deadline enough = Deadline::After(kLookFor);
  OUTBOX_ASSIGN_OR_RETURN(auto seqs, NextOfKeys(connection, table, request, keys));
  while (seqs.size() < request.limit) {
    page_ = std::max(page_, kPageFactor * request.limit);
    OUTBOX_ASSIGN_OR_RETURN(const bool more, LookAtPage(connection, table, request.limit, seqs));
    page_ = more ? std::min(page_ * kPageGrowth, kPageMax) : 0;
    if (!seqs.empty() || !more || enough.passed() || deadline.passed()) break;
  }
  return seqs;
}

Result<std::vector<std::int64_t>> DeliveryScan::NextOfKeys(Connection& connection,
                                                           const LeaseTable& table,
                                                           const ClaimRequest& request,
                                                           SettledKeys& keys) {
  // Half of a claim at most, so that other keys have their turn; of claims of one, every other.
  keys_turn_ = !keys_turn_;
  const std::size_t most = (request.limit + (keys_turn_ ? 1 : 0)) / 2;
  std::vector<std::int64_t> seqs;
  while (seqs.size() < most) {
    const auto settled = keys.Take(most - seqs.size());
    if (settled.empty()) break;
    for (const std::string& key : settled) {
      OUTBOX_ASSIGN_OR_RETURN(const LeaseTable::First first, table.FirstOf(connection, key));
      if (first.due) AddNew(seqs, first.seq);
    }
  }
  return seqs;
}

Result<bool> DeliveryScan::LookAtPage(Connection& connection, const LeaseTable& table,
                                      std::size_t limit, std::vector<std::int64_t>& seqs) {
  const auto started = ScanFloor::Clock::now();
  const ScanPosition start = floor_.Start(started);
  if (start.available_at == Timestamp::min()) waiting_ = false;
  OUTBOX_ASSIGN_OR_RETURN(
      const Looked looked,
      table.Look(connection, {.limit = limit - seqs.size(), .page = page_, .after = start}));
  for (const std::int64_t seq : looked.seqs) AddNew(seqs, seq);
  waiting_ = waiting_ || looked.waiting;
  if (!waiting_) {
    floor_.Reset();
    return false;
  }
  const bool more = !looked.to_end && seqs.size() < limit;
  if (looked.last && more) {
    floor_.StepOver(*looked.last, ScanFloor::Clock::now() - started);
  } else if (looked.last) {
    floor_.Advance(*looked.last, true);
  }
  return more;
}

}  // namespace outbox::store::sqlite
