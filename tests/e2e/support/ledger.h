// Ledger: the oracle of the fault tests.
//
// Producers write each event's id into the table `expected` in the event's own transaction; the
// consumers' record is what they saw. Committed and not seen is lost; seen and not committed is a
// phantom; seen again is a duplicate. It knows nothing of relays and leases.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace outbox::testing {

struct Verdict {
  std::size_t events = 0;  // committed
  std::size_t seen = 0;    // deliveries
  std::size_t lost = 0;
  std::size_t phantom = 0;
  std::size_t duplicated = 0;  // deliveries beyond the first of an event
};

class Ledger {
 public:
  void Expect(std::string id) { expected_.insert(std::move(id)); }
  void See(std::string id) { ++seen_[std::move(id)]; }

  // Sees every whole line of a file sink. A line that a crash tore counts for nothing: its consumer
  // can not have read it.
  void SeeFile(const std::string& path);

  Verdict Judge() const;

 private:
  std::unordered_set<std::string> expected_;
  std::unordered_map<std::string, std::size_t> seen_;
};

// Prints the one line by which every fault test accounts for itself.
void PrintVerdict(std::string_view test, const Verdict& verdict, std::size_t faults,
                  std::size_t bound);

}  // namespace outbox::testing
