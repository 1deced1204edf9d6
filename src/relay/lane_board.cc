#include "relay/lane_board.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace outbox::relay {

LaneBoard::LaneBoard(const std::vector<std::string>& destinations, TimePoint now) {
  for (const std::string& destination : destinations) {
    Lane& lane = lanes_.emplace_back();
    lane.destination = destination;
    lane.request.limit = 0;
    lane.first_ask_until = now + kFirstAskWithin;
  }
}

LaneBoard::Lane& LaneBoard::Find(std::string_view destination) {
  const auto found = std::ranges::find(lanes_, destination, &Lane::destination);
  OUTBOX_CHECK(found != lanes_.end());
  return *found;
}

void LaneBoard::OnAsked(std::function<void()> wake) {
  const std::lock_guard lock(wake_mutex_);
  on_asked_ = std::move(wake);
}

void LaneBoard::OnLeft(std::string_view destination, std::function<void()> wake) {
  const std::lock_guard lock(wake_mutex_);
  Find(destination).on_left = std::move(wake);
}

// --- a relay's side ---

void LaneBoard::Ask(std::string_view destination, const store::ClaimRequest& request,
                    TimePoint now) {
  bool anew = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    Lane& lane = Find(destination);
    anew = lane.request.limit == 0 || request.from_start;
    lane.request = request;
    lane.asked_in = rounds_begun_;
    lane.first_ask_until = lane.active = now;
  }
  if (!anew) return;
  const std::lock_guard lock(wake_mutex_);
  if (on_asked_) on_asked_();
}

void LaneBoard::Withdraw(std::string_view destination) {
  const std::lock_guard lock(mutex_);
  Find(destination).request.limit = 0;
}

std::unique_ptr<store::Claim> LaneBoard::Take(std::string_view destination, TimePoint now) {
  const std::lock_guard lock(mutex_);
  Lane& lane = Find(destination);
  if (lane.claim == nullptr || now - lane.leased >= kTakenWithin) return nullptr;
  lane.active = now;
  return std::move(lane.claim);
}

void LaneBoard::Await(std::string_view destination, Duration timeout) {
  std::unique_lock lock(mutex_);
  const Lane& lane = Find(destination);
  answered_.wait_for(lock, timeout, [&] {
    return closed_ || lane.claim != nullptr || rounds_ended_ > lane.asked_in;
  });
}

std::uint64_t LaneBoard::deliveries_added() const {
  const std::lock_guard lock(mutex_);
  return deliveries_added_;
}

// --- the splitter's side ---

std::vector<store::LaneRequest> LaneBoard::BeginRound(TimePoint now, Duration patience) {
  const std::lock_guard lock(mutex_);
  ++rounds_begun_;
  std::vector<store::LaneRequest> requests;
  for (const Lane& lane : lanes_) {
    store::LaneRequest request{.destination = lane.destination, .claim = lane.request};
    request.claim.lease += kTakenWithin;
    if (lane.claim != nullptr) request.claim.limit = 0;
    const bool near = now < std::max(lane.first_ask_until, lane.active + patience);
    if (request.claim.limit > 0 || near) requests.push_back(std::move(request));
  }
  return requests;
}

void LaneBoard::Leave(std::string_view destination, std::unique_ptr<store::Claim> claim,
                      TimePoint leased, TimePoint now) {
  {
    const std::lock_guard lock(mutex_);
    OUTBOX_CHECK(!closed_);
    Lane& lane = Find(destination);
    OUTBOX_CHECK(lane.claim == nullptr);
    lane.claim = std::move(claim);
    lane.leased = leased;
    lane.active = now;
    lane.request.limit = 0;
    answered_.notify_all();
  }
  const std::lock_guard lock(wake_mutex_);
  if (const auto& wake = Find(destination).on_left) wake();
}

void LaneBoard::EndRound(bool deliveries_added) {
  const std::lock_guard lock(mutex_);
  rounds_ended_ = rounds_begun_;
  if (deliveries_added) ++deliveries_added_;
  answered_.notify_all();
}

std::vector<std::unique_ptr<store::Claim>> LaneBoard::TakeBack(TimePoint now) {
  const std::lock_guard lock(mutex_);
  std::vector<std::unique_ptr<store::Claim>> claims;
  for (Lane& lane : lanes_) {
    if (lane.claim == nullptr || now - lane.leased < kTakenWithin) continue;
    claims.push_back(std::move(lane.claim));
    // It asked once, and did not come.
    lane.request.limit = 0;
    lane.active = {};
  }
  return claims;
}

LaneBoard::TimePoint LaneBoard::next_take_back() const {
  const std::lock_guard lock(mutex_);
  TimePoint next = TimePoint::max();
  for (const Lane& lane : lanes_) {
    if (lane.claim != nullptr) next = std::min(next, lane.leased + kTakenWithin);
  }
  return next;
}

std::vector<std::unique_ptr<store::Claim>> LaneBoard::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  answered_.notify_all();
  std::vector<std::unique_ptr<store::Claim>> claims;
  for (Lane& lane : lanes_) {
    if (lane.claim != nullptr) claims.push_back(std::move(lane.claim));
  }
  return claims;
}

}  // namespace outbox::relay
