#include "relay/lane_store.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace outbox::relay {
namespace {

// Nothing to deliver; what a claim that was given back had turned dead is still to be told.
class NoClaim final : public store::Claim {
 public:
  explicit NoClaim(std::unique_ptr<store::Claim> given_back = nullptr)
      : given_back_(std::move(given_back)) {}

  std::span<const Message> messages() const override { return {}; }
  std::span<const Message> exhausted() const override {
    return given_back_ == nullptr ? std::span<const Message>() : given_back_->exhausted();
  }
  Result<store::SettleReport> Settle(std::span<const store::Outcome>, Deadline) override {
    return store::SettleReport{};
  }
  Result<std::vector<std::uint32_t>> Extend(std::chrono::milliseconds, Deadline) override {
    return std::vector<std::uint32_t>{};
  }

 private:
  const std::unique_ptr<store::Claim> given_back_;
};

bool Empty(const store::Claim& claim) { return claim.size() == 0 && claim.exhausted().empty(); }

}  // namespace

Status GiveBack(store::Claim& claim, Deadline deadline) {
  std::vector<store::Outcome> outcomes(claim.size());
  for (std::uint32_t i = 0; i < outcomes.size(); ++i) outcomes[i].index = i;
  return claim.Settle(outcomes, deadline).error();
}

LaneStore::LaneStore(std::unique_ptr<store::RelayStore> deliveries,
                     std::shared_ptr<LaneBoard> board, LaneStoreOptions options)
    : deliveries_(std::move(deliveries)), board_(std::move(board)), options_(std::move(options)) {}

LaneStore::~LaneStore() { board_->Withdraw(options_.destination); }

void LaneStore::StopLeading() noexcept {
  board_->Withdraw(options_.destination);
  deliveries_->StopLeading();
}

LaneStore::ClaimResult LaneStore::Next(const store::ClaimRequest& request, Deadline deadline) {
  const bool few = request.limit == 1 || request.from_start;
  return few ? NextFew(request, deadline) : NextBatch(request, deadline);
}

LaneStore::ClaimResult LaneStore::NextBatch(const store::ClaimRequest& request, Deadline deadline) {
  const auto since_look = options_.clock() - looked_at_;
  const bool deliveries_first =
      lane_claimed_last_ && (found_deliveries_ || since_look >= kLookEvery);
  if (!deliveries_first) {
    if (auto claim = Take(request, deadline)) return claim;
  }
  const bool quiet = !found_deliveries_ && lane_claimed_last_ && since_look < kLookAgainAfter &&
                     board_->deliveries_added() == added_when_looked_;
  if (!quiet) {
    OUTBOX_ASSIGN_OR_RETURN(auto claim, NextDelivery(request, deadline));
    if (claim != nullptr) {
      if (claim->size() >= request.limit) {
        board_->Withdraw(options_.destination);
      } else {
        AskForRest(request, claim->size());
      }
      return claim;
    }
  }
  if (auto claim = Take(request, deadline)) return claim;
  board_->Ask(options_.destination, request, options_.clock());
  return std::unique_ptr<store::Claim>(std::make_unique<NoClaim>());
}

LaneStore::ClaimResult LaneStore::NextFew(const store::ClaimRequest& request, Deadline deadline) {
  if (auto claim = Take(request, deadline)) return claim;
  // A suspect is where the claim came from that it was given back of.
  const bool lane_first = request.from_start && lane_claimed_last_;
  if (lane_first) {
    if (auto claim = AskAndTake(request, deadline)) return claim;
  }
  OUTBOX_ASSIGN_OR_RETURN(auto delivery, NextDelivery(request, deadline));
  if (delivery != nullptr) return delivery;
  if (!lane_first) {
    if (auto claim = AskAndTake(request, deadline)) return claim;
  }
  return std::unique_ptr<store::Claim>(std::make_unique<NoClaim>());
}

// Null when there are none.
LaneStore::ClaimResult LaneStore::NextDelivery(const store::ClaimRequest& request,
                                               Deadline deadline) {
  added_when_looked_ = board_->deliveries_added();
  OUTBOX_ASSIGN_OR_RETURN(auto claim, deliveries_->Next(request, deadline));
  looked_at_ = options_.clock();
  found_deliveries_ = !Empty(*claim);
  if (!found_deliveries_) return std::unique_ptr<store::Claim>();
  lane_claimed_last_ = false;
  return claim;
}

std::unique_ptr<store::Claim> LaneStore::Take(const store::ClaimRequest& request,
                                              Deadline deadline) {
  auto claim = board_->Take(options_.destination, options_.clock());
  if (claim == nullptr) return nullptr;
  if (claim->size() > request.limit) {
    (void)GiveBack(*claim, deadline);
    if (claim->exhausted().empty()) return nullptr;
    return std::make_unique<NoClaim>(std::move(claim));
  }
  lane_claimed_last_ = true;
  AskForRest(request, claim->size());
  return claim;
}

void LaneStore::AskForRest(store::ClaimRequest request, std::size_t claimed) {
  if (claimed >= request.limit || request.from_start) return;
  request.limit -= claimed;
  board_->Ask(options_.destination, request, options_.clock());
}

std::unique_ptr<store::Claim> LaneStore::AskAndTake(const store::ClaimRequest& request,
                                                    Deadline deadline) {
  board_->Ask(options_.destination, request, options_.clock());
  board_->Await(options_.destination,
                std::min<LaneBoard::Duration>(options_.answer_within, deadline.remaining()));
  auto claim = Take(request, deadline);
  if (claim == nullptr) board_->Withdraw(options_.destination);
  return claim;
}

}  // namespace outbox::relay
