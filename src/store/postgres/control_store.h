// PostgresControlStore: heartbeats, pauses and the audit, in the schema `outbox`.
//
// Connects at the first call and, after a failure, at the next.
//
// Threads: one at a time.
#pragma once

#include <memory>

#include "store/control_store.h"
#include "store/postgres/connection.h"

namespace outbox::store::postgres {

// Writes the record of a change on a connection, in the transaction that is open there.
Status RecordAudit(Connection& connection, const AuditRecord& record, Deadline deadline,
                   Connection::SessionId session);

class PostgresControlStore final : public ControlStore {
 public:
  explicit PostgresControlStore(std::shared_ptr<const Address> address)
      : connection_(std::move(address), Plans::kFresh) {}

  Result<std::vector<RelayPause>> Beat(const ProcessInfo& process,
                                       std::span<const RelayBeat> relays,
                                       std::chrono::milliseconds interval,
                                       Deadline deadline) override;
  Status Leave(const ProcessInfo& process, Deadline deadline) override;
  Result<std::vector<ListedRelay>> Relays(Deadline deadline) override;
  Result<std::vector<RelayPause>> Pauses(Deadline deadline) override;
  Result<std::size_t> Pause(const RelayPause& pause, const Audit& audit,
                            Deadline deadline) override;
  Result<std::size_t> Resume(const std::string& table, const std::string& sink, const Audit& audit,
                             Deadline deadline) override;
  Result<AuditPage> ListAudit(const AuditFilter& filter, Deadline deadline) override;

 private:
  Result<Rows> Ask(const Statement& statement, const Params& params, Deadline deadline);

  Connection connection_;
};

}  // namespace outbox::store::postgres
