#include "store/sqlite/lease_claim.h"

#include <utility>
#include <vector>

#include "base/failpoint.h"

namespace outbox::store::sqlite {
namespace {

class LeaseClaim final : public Claim {
 public:
  LeaseClaim(std::shared_ptr<const LeaseTable> table, std::shared_ptr<SettleSlot> settle,
             std::string token, Taken taken)
      : table_(std::move(table)),
        settle_(std::move(settle)),
        token_(std::move(token)),
        taken_(std::move(taken)),
        settled_(taken_.messages.size()) {}

  std::span<const Message> messages() const override { return taken_.messages; }
  std::span<const Message> exhausted() const override { return taken_.exhausted; }

  Result<SettleReport> Settle(std::span<const Outcome> outcomes, Deadline deadline) override {
    const std::lock_guard lock(settle_->mutex);
    OUTBOX_ASSIGN_OR_RETURN(
        SettleReport report,
        settle_->connection.Use(deadline, [&](Connection& on) { return SettleOn(on, outcomes); }));
    for (const Outcome& outcome : outcomes) {
      settled_[outcome.index] = true;
      const Message& message = taken_.messages[outcome.index];
      const bool next_is_due = outcome.kind != Outcome::Kind::kRetry;
      if (next_is_due && taken_.ordered.contains(message.seq)) settle_->keys.Add(message.key);
    }
    return report;
  }

  Result<std::vector<std::uint32_t>> Extend(std::chrono::milliseconds lease,
                                            Deadline deadline) override {
    const std::lock_guard lock(settle_->mutex);
    return settle_->connection.Use(deadline, [&](Connection& on) { return ExtendOn(on, lease); });
  }

 private:
  Result<SettleReport> SettleOn(Connection& connection, std::span<const Outcome> outcomes) {
    OUTBOX_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(connection));
    OUTBOX_ASSIGN_OR_RETURN(SettleReport report,
                            table_->Settle(connection, token_, taken_.messages, outcomes));
    base::Failpoint("mid_settle");
    OUTBOX_RETURN_IF_ERROR(transaction.Commit());
    return report;
  }

  Result<std::vector<std::uint32_t>> ExtendOn(Connection& connection,
                                              std::chrono::milliseconds lease) {
    std::vector<std::uint32_t> lost;
    OUTBOX_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(connection));
    for (std::uint32_t index = 0; index < settled_.size(); ++index) {
      if (settled_[index]) continue;
      OUTBOX_ASSIGN_OR_RETURN(const bool ours,
                              table_->Extend(connection, token_, taken_.messages[index], lease));
      if (!ours) lost.push_back(index);
    }
    OUTBOX_RETURN_IF_ERROR(transaction.Commit());
    return lost;
  }

  const std::shared_ptr<const LeaseTable> table_;
  const std::shared_ptr<SettleSlot> settle_;
  const std::string token_;
  const Taken taken_;
  std::vector<bool> settled_;
};

ConnectionSlot::Prepare SettleDurability(bool async_ack) {
  if (!async_ack) return nullptr;
  return [](Connection& connection) { return connection.RelaxDurability(); };
}

}  // namespace

SettleSlot::SettleSlot(const std::string& path, bool async_ack)
    : connection(path, SettleDurability(async_ack)) {}

std::unique_ptr<Claim> MakeLeaseClaim(std::shared_ptr<const LeaseTable> table,
                                      std::shared_ptr<SettleSlot> settle, std::string token,
                                      Taken taken) {
  return std::make_unique<LeaseClaim>(std::move(table), std::move(settle), std::move(token),
                                      std::move(taken));
}

}  // namespace outbox::store::sqlite
