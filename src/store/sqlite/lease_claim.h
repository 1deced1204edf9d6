// LeaseClaim: messages, or deliveries, whose rows carry this claim's token until they are settled
// or it expires. Each settle is a transaction of its own.
//
// Threads: messages and sizes any; Settle and Extend of all claims that share a SettleSlot take
// turns.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "store/relay_store.h"
#include "store/settled_keys.h"
#include "store/sqlite/connection_slot.h"
#include "store/sqlite/lease_table.h"

namespace outbox::store::sqlite {

// The connection on which claims are settled, and the keys that were. Shared with the claims, which
// may outlive the store.
struct SettleSlot {
  SettleSlot(const std::string& path, bool async_ack);

  std::mutex mutex;  // guards connection
  ConnectionSlot connection;
  SettledKeys keys;
};

std::unique_ptr<Claim> MakeLeaseClaim(std::shared_ptr<const LeaseTable> table,
                                      std::shared_ptr<SettleSlot> settle, std::string token,
                                      Taken taken);

}  // namespace outbox::store::sqlite
