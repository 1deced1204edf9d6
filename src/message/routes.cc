#include "message/routes.h"

#include <algorithm>

#include "message/validate.h"

namespace outbox::message {

std::vector<Routes::Target> Routes::For(std::string_view topic) const {
  std::vector<Target> targets;
  for (const Route& route : routes_) {
    if (!TopicMatches(route.topics, topic)) continue;
    for (const std::string& destination : route.destinations) {
      auto target = std::find_if(targets.begin(), targets.end(), [&](const Target& known) {
        return known.destination == destination;
      });
      if (target == targets.end()) target = targets.insert(targets.end(), Target{destination});
      if (!route.ordered) continue;
      target->ordered = true;
      target->waits_for_dead = target->waits_for_dead || route.waits_for_dead;
    }
  }
  return targets;
}

bool Routes::exhaustive() const noexcept {
  return std::any_of(routes_.begin(), routes_.end(),
                     [](const Route& route) { return route.topics == "#"; });
}

}  // namespace outbox::message
