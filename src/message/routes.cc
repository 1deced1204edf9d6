#include "message/routes.h"

#include <algorithm>

#include "message/validate.h"

namespace outbox::message {

std::vector<Routes::Target> Routes::For(std::string_view topic) const {
  std::vector<Target> targets;
  for (const Route& route : routes_) {
    if (!TopicMatches(route.topics, topic)) continue;
    for (const std::string& destination : route.destinations) {
      const bool known = std::any_of(targets.begin(), targets.end(), [&](const Target& target) {
        return target.destination == destination;
      });
      if (!known) targets.push_back({destination, route.ordered, route.waits_for_dead});
    }
  }
  return targets;
}

bool Routes::exhaustive() const noexcept {
  return std::any_of(routes_.begin(), routes_.end(),
                     [](const Route& route) { return route.topics == "#"; });
}

}  // namespace outbox::message
