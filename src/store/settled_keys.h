// SettledKeys: keys of which an ordered delivery was just decided or given back. What comes next of
// them is due, wherever it stands: behind the scan's floor, as a rule.
//
// Only a hint: what is not remembered here is found by a scan from the start.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

namespace outbox::store {

class SettledKeys {
 public:
  static constexpr std::size_t kMax = 10'000;

  // Does nothing while it is full.
  void Add(std::string key);
  // Takes those that came first.
  std::vector<std::string> Take(std::size_t limit);

 private:
  std::mutex mutex_;
  std::deque<std::string> keys_;  // guarded by mutex_
};

}  // namespace outbox::store
