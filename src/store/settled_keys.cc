#include "store/settled_keys.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace outbox::store {

void SettledKeys::Add(std::string key) {
  const std::lock_guard lock(mutex_);
  if (keys_.size() < kMax) keys_.push_back(std::move(key));
}

std::vector<std::string> SettledKeys::Take(std::size_t limit) {
  const std::lock_guard lock(mutex_);
  const auto end = keys_.begin() + static_cast<std::ptrdiff_t>(std::min(limit, keys_.size()));
  std::vector<std::string> taken(std::make_move_iterator(keys_.begin()),
                                 std::make_move_iterator(end));
  keys_.erase(keys_.begin(), end);
  return taken;
}

}  // namespace outbox::store
