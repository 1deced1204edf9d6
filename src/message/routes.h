// Routes: which destinations a topic goes to.
//
// Threads: constant once made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace outbox::message {

struct Route {
  std::string topics;                     // a pattern: "orders.*.created.v*", "#"
  std::vector<std::string> destinations;  // names of sinks
  // Deliveries of messages with one key go in the order of their seq.
  bool ordered = false;
  // In order: what comes after a dead message waits until that is retried or deleted; otherwise it
  // goes on without it.
  bool waits_for_dead = true;
};

// What becomes of a message that no route takes.
enum class Unrouted : std::uint8_t {
  kKeep,  // stays pending, with an error; looked at again every minute
  kDead,
  kDrop,  // counts as delivered
};

class Routes {
 public:
  explicit Routes(std::vector<Route> routes) : routes_(std::move(routes)) {}

  struct Target {
    std::string_view destination;  // lives as long as the Routes
    bool ordered = false;
    bool waits_for_dead = false;  // in order only
  };

  // Each destination once, however many routes lead to it: in order if one of these is ordered, and
  // waiting for the dead if one of the ordered ones does.
  std::vector<Target> For(std::string_view topic) const;
  // True when every topic is taken.
  bool exhaustive() const noexcept;
  const std::vector<Route>& routes() const noexcept { return routes_; }

 private:
  std::vector<Route> routes_;
};

}  // namespace outbox::message
