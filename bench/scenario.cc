#include "bench/scenario.h"

#include <array>
#include <cstdio>

#include "base/printable.h"
#include "bench/interrupt.h"

namespace outbox::bench {
namespace {

constexpr std::size_t kMessages = 200'000;
constexpr std::size_t kMessagesQuick = 50'000;
constexpr std::size_t kHistoryRows = 10'000'000;
constexpr std::size_t kHistoryRowsQuick = 300'000;
constexpr int kRounds = 3;

constexpr std::array kScenarios{
    Scenario{"enqueue", EnqueueCost}, Scenario{"functions", EnqueueFunction},
    Scenario{"drain", DrainRate},     Scenario{"peers", Peers},
    Scenario{"flow", Flow},           Scenario{"pinned", PinnedSnapshot},
    Scenario{"latency", Latency},     Scenario{"idle", IdleCost},
    Scenario{"history", LongHistory}, Scenario{"sinks", SinkRate},
    Scenario{"fanout", FanOut},       Scenario{"attempts", AttemptCost},
};

}  // namespace

std::span<const Scenario> Scenarios() noexcept { return kScenarios; }

std::vector<Scratch*> Run::stores() const {
  std::vector<Scratch*> stores;
  if (postgres_ != nullptr) stores.push_back(postgres_);
  if (sqlite_ != nullptr) stores.push_back(sqlite_);
  return stores;
}

std::size_t Run::messages() const {
  return options_.messages.value_or(options_.quick ? kMessagesQuick : kMessages);
}

std::size_t Run::history_rows() const {
  return options_.history_rows.value_or(options_.quick ? kHistoryRowsQuick : kHistoryRows);
}

int Run::rounds() const { return options_.rounds.value_or(options_.quick ? 1 : kRounds); }

void Run::Progress(std::string_view text) const {
  std::fprintf(stderr, "bench: %s\n", base::Harmless(text).c_str());
}

Status Run::CheckInterrupted() const {
  if (!Interrupt::requested()) return Status::Ok();
  return Status::Retry(Code::kCancelled, "interrupted");
}

}  // namespace outbox::bench
