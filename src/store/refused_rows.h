// RefusedRows: rows that the database refuses to lease: a trigger or a check of the user's says no
// to every change of them. One such row fails the statement that claims it with others. So a claim
// that is refused is made again with half as many rows, down to one; the row that is refused alone
// is set aside, for longer and longer, and the others go on.
//
// Threads: one at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "outbox/status.h"
#include "outbox/uuid.h"

namespace outbox::store {

// A row that was set aside, for people.
struct RefusedRow {
  Status error;  // names the message; nothing of what the database said, which may be its payload
  std::chrono::milliseconds retry_in{0};
};

class RefusedRows {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::chrono::milliseconds kWaitMin{1'000};
  static constexpr std::chrono::milliseconds kWaitMax{300'000};
  // Set aside at most, in all and by one claim. With more a claim fails.
  static constexpr std::size_t kRowsMax = 1'000;
  static constexpr std::size_t kRowsPerClaim = 16;

  // What a refused claim does next.
  enum class Next : std::uint8_t {
    kFail,       // the error is its answer
    kSmaller,    // again, with Limit() rows
    kFindFirst,  // find the first row that is due, SetAside, and again
    kStop,       // enough for one claim, which is empty
  };

  // How many rows a claim asks for that wants `wanted`. A new claim begins.
  std::size_t Begin(std::size_t wanted);
  std::size_t limit() const noexcept { return limit_; }
  Next OnRefused();
  // `what` is the message's id and number, `native` the database's code.
  void SetAside(std::int64_t seq, std::string_view what, const Status& why, Clock::time_point now);
  void OnClaimed() noexcept;

  // Rows to leave alone now.
  std::vector<std::int64_t> Aside(Clock::time_point now) const;
  // Those set aside since the last call.
  std::vector<RefusedRow> Take();

 private:
  struct Entry {
    Clock::time_point until{};
    std::chrono::milliseconds wait{0};
  };

  void DropOld(Clock::time_point now);

  std::map<std::int64_t, Entry> rows_;
  std::vector<RefusedRow> told_;
  std::size_t limit_ = 1;
  std::size_t limit_max_ = SIZE_MAX;  // halved by a refusal, doubled by a claim
  std::size_t in_this_claim_ = 0;
};

}  // namespace outbox::store
