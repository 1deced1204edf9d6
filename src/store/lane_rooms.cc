#include "store/lane_rooms.h"

namespace outbox::store {

LaneRooms::LaneRooms(std::span<const LaneRequest> lanes) : lanes_(lanes) {
  rooms_.reserve(lanes.size());
  for (const LaneRequest& lane : lanes) rooms_.push_back(lane.claim.limit);
}

LaneRooms::Decision LaneRooms::Decide(std::span<const message::Routes::Target> targets,
                                      std::string_view key, bool split_before) {
  if (targets.empty()) return {Way::kUnrouted};
  const message::Routes::Target& target = targets.front();
  const bool ordered = target.ordered && !key.empty();
  if (targets.size() > 1 || ordered || split_before) return {Way::kDeliveries};
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    if (lanes_[lane].destination != target.destination) continue;
    if (rooms_[lane] == 0) return {lanes_[lane].spills ? Way::kDeliveries : Way::kWait};
    --rooms_[lane];
    return {Way::kLane, lane};
  }
  return {Way::kDeliveries};
}

}  // namespace outbox::store
