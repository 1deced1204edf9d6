// PostgresCleanStore: deletes old rows in bounded steps.
//
// Threads: one at a time.
#pragma once

#include <memory>

#include "message/table_name.h"
#include "store/clean_store.h"
#include "store/postgres/connection.h"

namespace outbox::store::postgres {

class PostgresCleanStore final : public CleanStore {
 public:
  PostgresCleanStore(std::shared_ptr<const Address> address, const message::TableName& table);

  Status Check(Deadline deadline);

  Result<std::size_t> PurgeDelivered(std::chrono::milliseconds retention, std::size_t limit,
                                     Deadline deadline) override;
  Result<std::size_t> PurgeDead(std::chrono::milliseconds retention, std::size_t limit,
                                Deadline deadline) override;
  Result<std::size_t> PurgeAttempts(std::size_t limit, Deadline deadline) override;
  Result<std::size_t> PurgeAudit(std::chrono::milliseconds retention, std::size_t limit,
                                 Deadline deadline) override;

 private:
  const message::TableName table_;
  const Statement purge_delivered_;
  const Statement purge_dead_;
  const Statement purge_attempts_;
  Timestamp purged_until_ = Timestamp::min();  // what was delivered before stays, in this round
  std::int64_t attempts_seen_ = 0;             // seq up to which they were looked at in this round
  Connection connection_;
};

}  // namespace outbox::store::postgres
