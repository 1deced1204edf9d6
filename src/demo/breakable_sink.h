// BreakableSink: a destination that fails when it is told to, in the ways real ones do.
//
// Threads: the relay calls the Sink methods; every other method may be called from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/random.h"
#include "demo/ledger.h"
#include "outbox/sink.h"

namespace outbox::demo {

enum class SinkCondition : std::uint8_t {
  kWorking,
  kDown,       // nobody answers: no message is judged
  kRefusing,   // looks at each message and refuses some of them
  kForgetful,  // takes each message, and some answers get lost on the way back
};

std::string_view ToString(SinkCondition condition) noexcept;

class BreakableSink final : public Sink {
 public:
  explicit BreakableSink(Ledger& ledger) : ledger_(ledger) {}

  void SetCondition(SinkCondition condition) { condition_ = condition; }
  SinkCondition condition() const { return condition_; }
  // The next new message is refused for good.
  void PoisonNext() { ++poison_wanted_; }

  // Calls made while it was down.
  std::uint64_t probes() const { return probes_; }
  std::optional<std::chrono::steady_clock::duration> SinceLastProbe() const;

  std::string_view name() const noexcept override { return "demo"; }
  SinkTraits traits() const noexcept override { return {.batch_max = 100, .concurrency = 1}; }
  Status Open(Deadline deadline) override;
  void Publish(std::span<const Message> batch, std::span<Status> results,
               Deadline deadline) override;

 private:
  Status Probe();
  Status Judge(const Message& message);

  Ledger& ledger_;
  base::SeededRandom random_{7};  // used by Publish only
  std::atomic<SinkCondition> condition_{SinkCondition::kWorking};
  std::atomic<int> poison_wanted_{0};
  std::atomic<std::uint64_t> probes_{0};
  std::atomic<std::chrono::steady_clock::rep> last_probe_{0};
};

}  // namespace outbox::demo
