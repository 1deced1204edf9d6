// LaneStore: what the relay of one destination of a table with routes claims from: its lane of the
// board, where messages are that go to it alone, and its deliveries.
//
// The lane comes first, the deliveries at least every kLookEvery, and whenever there were some.
// While deliveries fill whole claims the relay is behind and asks for nothing on the board: what is
// new waits its turn among them.
//
// Threads: as RelayStore.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "relay/lane_board.h"
#include "store/relay_store.h"

namespace outbox::relay {

// Gives all messages of a claim back that was never begun. A failure leaves them to their lease.
Status GiveBack(store::Claim& claim, Deadline deadline);

struct LaneStoreOptions {
  std::string destination;
  // How long a probe, or the claim of a suspect, waits for the splitter.
  std::chrono::milliseconds answer_within{200};
  std::function<LaneBoard::TimePoint()> clock = std::chrono::steady_clock::now;
};

class LaneStore final : public store::RelayStore {
 public:
  static constexpr std::chrono::milliseconds kLookEvery{100};
  // While the lane is busy, not more often than this.
  static constexpr std::chrono::milliseconds kLookAgainAfter{50};

  // `deliveries` is opened for the destination.
  LaneStore(std::unique_ptr<store::RelayStore> deliveries, std::shared_ptr<LaneBoard> board,
            LaneStoreOptions options);
  ~LaneStore() override;

  store::RelayStoreTraits traits() const noexcept override { return deliveries_->traits(); }
  Result<std::unique_ptr<store::Claim>> Next(const store::ClaimRequest& request,
                                             Deadline deadline) override;
  Result<store::Leadership> TryLead(Deadline deadline) override {
    return deliveries_->TryLead(deadline);
  }
  void StopLeading() noexcept override;
  // Messages on the lane are leased in the table, which the deliveries' store looks at too.
  Result<bool> Drained(Deadline deadline) override { return deliveries_->Drained(deadline); }
  Result<std::unique_ptr<store::Watch>> WatchForWork(std::function<void()> on_work,
                                                     Deadline deadline) override {
    return deliveries_->WatchForWork(std::move(on_work), deadline);
  }

 private:
  using ClaimResult = Result<std::unique_ptr<store::Claim>>;

  ClaimResult NextBatch(const store::ClaimRequest& request, Deadline deadline);
  // A claim of one message, or of what was given back, waits for the splitter's answer: the core
  // takes an empty claim as one. It asks for no more than that.
  ClaimResult NextFew(const store::ClaimRequest& request, Deadline deadline);
  ClaimResult NextDelivery(const store::ClaimRequest& request, Deadline deadline);
  // Null when nothing is there. What is more than asked for is given back, but for the dead.
  std::unique_ptr<store::Claim> Take(const store::ClaimRequest& request, Deadline deadline);
  std::unique_ptr<store::Claim> AskAndTake(const store::ClaimRequest& request, Deadline deadline);
  void AskForRest(store::ClaimRequest request, std::size_t claimed);

  const std::unique_ptr<store::RelayStore> deliveries_;
  const std::shared_ptr<LaneBoard> board_;
  const LaneStoreOptions options_;

  LaneBoard::TimePoint looked_at_{};
  std::uint64_t added_when_looked_ = 0;
  bool found_deliveries_ = true;  // when it looked last
  bool lane_claimed_last_ = false;
};

}  // namespace outbox::relay
