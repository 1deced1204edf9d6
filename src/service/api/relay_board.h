// RelayBoard: where each relay of this process stands, as its own events tell, for health, the
// operators' API and the live stream. Counts are since the start of the process.
//
// A relay is known by its state. Others tell of their errors under a table's name too (splitters,
// cleaners, whoever counts rows): that makes no relay of them.
//
// Threads: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_object.h"
#include "outbox/observer.h"

namespace outbox::service {

struct RelaySeen {
  std::string name;  // "public.orders_outbox", or "public.orders_outbox/rabbit" with routes
  RelayState state = RelayState::kStarting;
  std::string why;  // of an outage
  std::chrono::steady_clock::time_point state_since{};
  std::optional<bool> leading;  // single-active mode only
  std::uint64_t claimed = 0;
  std::uint64_t delivered = 0;
  std::uint64_t retried = 0;
  std::uint64_t dead = 0;
  std::uint64_t released = 0;
  std::uint64_t lost = 0;
  std::uint64_t store_errors = 0;
  std::chrono::steady_clock::time_point last_claim{};   // one that came back, empty or not
  std::chrono::steady_clock::time_point last_settle{};  // of at least one message

  // The table it delivers from.
  std::string_view table() const noexcept {
    return std::string_view(name).substr(0, name.find('/'));
  }
  // It serves one sink of a table with routes.
  bool one_of_several() const noexcept { return name.find('/') != std::string::npos; }
};

// {"name":…,"state":…,"leading":…,"delivered":…,…}
std::string ToJson(const RelaySeen& relay);
void AddTo(base::JsonObject& json, const RelaySeen& relay);

class RelayBoard final : public RelayObserver {
 public:
  // Told of each change of a relay's state or leadership, on that relay's thread.
  using OnChange = std::function<void(const RelaySeen&)>;

  std::vector<RelaySeen> Relays() const;
  // REQUIRES: no relay runs yet.
  void Tell(OnChange on_change) { on_change_ = std::move(on_change); }

  void OnStateChanged(std::string_view relay, RelayState state, std::string_view why) override;
  void OnLeaderChanged(std::string_view relay, bool leading) override;
  void OnClaimed(std::string_view relay, std::size_t count, Duration took) override;
  void OnSettled(std::string_view relay, const SettleCounts& counts, Duration took) override;
  void OnStoreError(std::string_view relay, std::string_view operation, const Status& error,
                    Duration retry_in) override;

 private:
  template <typename Change>
  RelaySeen Apply(std::string_view relay, Change change);
  template <typename Change>
  void ApplyIfKnown(std::string_view relay, Change change);

  OnChange on_change_;
  mutable std::mutex mutex_;
  std::map<std::string, RelaySeen, std::less<>> relays_;  // guarded by mutex_
};

}  // namespace outbox::service
