// DeliveryScan: which deliveries a relay claims next, where some of them wait in an order.
//
// What waits for an earlier one of its key is due for as long as that takes, and stands in the way
// of what comes later. A look steps over a page of it, the next goes on from there, and about once
// a second from the start (ScanFloor). What comes next of a key that was just settled is asked for
// by that key. While nothing waits, each look begins at the start.
//
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "outbox/deadline.h"
#include "outbox/status.h"
#include "store/relay_store.h"
#include "store/scan_floor.h"
#include "store/settled_keys.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/lease_table.h"

namespace outbox::store::sqlite {

class DeliveryScan {
 public:
  // Deliveries to be taken with LeaseTable::TakeThese, at most request.limit. None proves nothing:
  // where many wait, the next call goes on. Needs no transaction.
  Result<std::vector<std::int64_t>> Next(Connection& connection, const LeaseTable& table,
                                         const ClaimRequest& request, SettledKeys& keys,
                                         Deadline deadline);
  // The next look begins at the start: what the last one found was not taken.
  void Reset() noexcept { floor_.Reset(); }

 private:
  Result<std::vector<std::int64_t>> NextOfKeys(Connection& connection, const LeaseTable& table,
                                               const ClaimRequest& request, SettledKeys& keys);
  // Looks at one page. True when there may be more behind it.
  Result<bool> LookAtPage(Connection& connection, const LeaseTable& table, std::size_t limit,
                          std::vector<std::int64_t>& seqs);

  ScanFloor floor_;
  std::size_t page_ = 0;
  bool waiting_ = false;  // since the scan began at the start, it met some that wait
  bool keys_turn_ = false;
};

}  // namespace outbox::store::sqlite
