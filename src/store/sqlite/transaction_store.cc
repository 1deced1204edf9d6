#include "store/sqlite/transaction_store.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace outbox::store::sqlite {
namespace {

constexpr std::chrono::seconds kAbandonTimeout{5};

class EmptyClaim final : public Claim {
 public:
  explicit EmptyClaim(std::vector<Message> exhausted = {}) : exhausted_(std::move(exhausted)) {}

  std::span<const Message> messages() const override { return {}; }
  std::span<const Message> exhausted() const override { return exhausted_; }
  Result<SettleReport> Settle(std::span<const Outcome>, Deadline) override {
    return SettleReport{};
  }
  Result<std::vector<std::uint32_t>> Extend(std::chrono::milliseconds, Deadline) override {
    return std::vector<std::uint32_t>{};
  }

 private:
  std::vector<Message> exhausted_;
};

// A failure that ended the transaction: asking again can not help.
Status Voided(const Status& why) {
  if (why.disposition() == Disposition::kInDoubt) return why;
  return Status::Permanent(why.code(), why.message() + "; its claim was rolled back")
      .WithHint(why.hint())
      .WithNative(why.native());
}

class TransactionClaim final : public Claim {
 public:
  TransactionClaim(std::shared_ptr<const LeaseTable> table, std::shared_ptr<ClaimDesk> desk,
                   std::string token, Taken taken)
      : table_(std::move(table)),
        desk_(std::move(desk)),
        token_(std::move(token)),
        taken_(std::move(taken)),
        settled_(taken_.messages.size()) {}

  ~TransactionClaim() override {
    if (open_) Abandon();
  }

  std::span<const Message> messages() const override { return taken_.messages; }
  std::span<const Message> exhausted() const override { return taken_.exhausted; }

  Result<SettleReport> Settle(std::span<const Outcome> outcomes, Deadline deadline) override {
    if (!open_) return AllLost(outcomes);
    auto report = desk_->connection.Use(
        deadline, [&](Connection& connection) { return SettleOn(connection, outcomes); });
    if (!report.ok()) {
      Leave();
      return Voided(report.error());
    }
    if (Complete()) Leave();
    return report;
  }

  Result<std::vector<std::uint32_t>> Extend(std::chrono::milliseconds, Deadline) override {
    return std::vector<std::uint32_t>{};
  }

 private:
  Result<SettleReport> SettleOn(Connection& connection, std::span<const Outcome> outcomes) {
    OUTBOX_ASSIGN_OR_RETURN(SettleReport report,
                            table_->Settle(connection, token_, taken_.messages, outcomes));
    for (const Outcome& outcome : outcomes) settled_[outcome.index] = true;
    if (Complete()) OUTBOX_RETURN_IF_ERROR(connection.Commit());
    return report;
  }

  // Outcomes that were reported as recorded stay recorded; the other rows are as before the claim.
  void Abandon() noexcept {
    std::vector<Outcome> rest;
    for (std::uint32_t index = 0; index < settled_.size(); ++index) {
      if (!settled_[index]) rest.push_back({.index = index, .kind = Outcome::Kind::kReleased});
    }
    const bool partly = rest.size() < settled_.size();
    const bool recorded = partly && Settle(rest, Deadline::After(kAbandonTimeout)).ok();
    if (!recorded && open_) {
      // Closing the connection rolls back.
      desk_->connection.Close();
      Leave();
    }
  }

  static SettleReport AllLost(std::span<const Outcome> outcomes) {
    SettleReport report;
    std::transform(outcomes.begin(), outcomes.end(), std::back_inserter(report.lost),
                   [](const Outcome& outcome) { return outcome.index; });
    return report;
  }

  bool Complete() const {
    return std::find(settled_.begin(), settled_.end(), false) == settled_.end();
  }

  void Leave() noexcept {
    open_ = false;
    desk_->taken.store(false, std::memory_order_release);
  }

  std::shared_ptr<const LeaseTable> table_;
  std::shared_ptr<ClaimDesk> desk_;
  std::string token_;
  Taken taken_;
  std::vector<bool> settled_;
  bool open_ = true;
};

}  // namespace

TransactionStore::TransactionStore(const std::string& path, const RelayStoreOptions& options,
                                   std::shared_ptr<const LeaseTable> table)
    : RelayStoreBase(path, options, std::move(table)),
      desk_(std::make_shared<ClaimDesk>(ConnectionSlot(
          path, PrepareConnection(options.async_ack ? Commits::kRelaxed : Commits::kDurable)))) {}

Result<std::unique_ptr<Claim>> TransactionStore::Next(const ClaimRequest& request,
                                                      Deadline deadline) {
  const bool claim_open = desk_->taken.load(std::memory_order_acquire);
  OUTBOX_ASSIGN_OR_RETURN(const bool worth, claim_open ? false : WorthClaiming(deadline));
  if (!worth) return std::unique_ptr<Claim>(std::make_unique<EmptyClaim>());

  std::string token = NextToken();
  std::vector<Message> exhausted;
  OUTBOX_ASSIGN_OR_RETURN(Taken taken, desk_->connection.Use(deadline, [&](Connection& connection) {
    return TakeWilling(connection, request, deadline,
                       [&](const ClaimRequest& part, std::span<const std::int64_t> aside) {
                         return Take(connection, token, part, aside, exhausted);
                       });
  }));
  taken.exhausted = std::move(exhausted);
  NoteClaimed(!taken.messages.empty() || !taken.exhausted.empty());
  if (taken.messages.empty()) {
    return std::unique_ptr<Claim>(std::make_unique<EmptyClaim>(std::move(taken.exhausted)));
  }
  desk_->taken.store(true, std::memory_order_relaxed);
  return std::unique_ptr<Claim>(
      std::make_unique<TransactionClaim>(table(), desk_, std::move(token), std::move(taken)));
}

Result<Taken> TransactionStore::Take(Connection& connection, const std::string& token,
                                     const ClaimRequest& request,
                                     std::span<const std::int64_t> aside,
                                     std::vector<Message>& exhausted) {
  while (true) {
    OUTBOX_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(connection));
    OUTBOX_ASSIGN_OR_RETURN(Taken taken, table()->Take(connection, token, request, aside));
    const bool done = taken.exhausted.empty();
    if (done && !taken.messages.empty()) {
      transaction.Keep();
      return taken;
    }
    // Burials are final and told once, whatever becomes of the claim: they are committed before it
    // begins.
    OUTBOX_RETURN_IF_ERROR(table()->GiveBack(connection, token, taken.messages));
    OUTBOX_RETURN_IF_ERROR(transaction.Commit());
    std::move(taken.exhausted.begin(), taken.exhausted.end(), std::back_inserter(exhausted));
    if (done) return Taken{};
  }
}

}  // namespace outbox::store::sqlite
