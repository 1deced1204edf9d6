// LaneRooms: which way each message of a table with routes goes, while one batch is split.
//
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "message/routes.h"
#include "store/split_store.h"

namespace outbox::store {

class LaneRooms {
 public:
  enum class Way : std::uint8_t {
    kUnrouted,
    kDeliveries,
    kLane,  // leased in its own row, for `lane`
    kWait,  // left alone: its lane takes no more at the moment
  };
  struct Decision {
    Way way = Way::kUnrouted;
    std::size_t lane = 0;  // an index into the request's
  };

  // `lanes` must outlive it.
  explicit LaneRooms(std::span<const LaneRequest> lanes);

  // Uses up room of a lane. `split_before`: it has deliveries.
  Decision Decide(std::span<const message::Routes::Target> targets, std::string_view key,
                  bool split_before);

 private:
  const std::span<const LaneRequest> lanes_;
  std::vector<std::size_t> rooms_;
};

}  // namespace outbox::store
