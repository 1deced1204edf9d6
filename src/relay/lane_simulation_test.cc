// The simulation of simulation_test.cc for a table with routes: two processes, each with a
// splitter, a board and a relay for each of two sinks, on a virtual clock and by a seed.
//
// Every message goes to one sink. The splitters lease it in its own row while the relay of that
// sink asks, and turn it into a delivery otherwise; a delivery is a row of a second store.
// Processes crash and freeze, sinks go away one at a time and are paused, store calls fail or lose
// their answer. Then everything heals, and every message must have been delivered; but for one that
// alone finds its sink down, for ever, and is to stop nobody.

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <list>
#include <map>
#include <memory>

#include "relay/core.h"
#include "relay/lane_board.h"
#include "relay/lane_store.h"
#include "store/memory/memory_store.h"

namespace outbox::relay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Call = store::MemoryStore::Call;

// What is wrong with the splitter; the controls show that the simulation notices.
enum class SplitMutant { kNone, kForgetsTheDelivery, kAcksAsItLeaves };

constexpr int kLaneMessages = 80;
constexpr int kLaneRefused = 20;  // the message that always finds its sink down
constexpr std::size_t kLaneProcesses = 2;
constexpr std::size_t kLaneSinks = 2;
constexpr std::size_t kSplitBatch = 8;
constexpr milliseconds kLaneStep{5};
constexpr seconds kLaneFaults{40};
constexpr seconds kLaneHeals{120};
constexpr seconds kLaneLease{2};
constexpr milliseconds kLanePatience{100};

std::string SinkName(std::size_t sink) { return sink == 0 ? "hook" : "rabbit"; }
std::string TopicOf(std::size_t sink) { return "to." + SinkName(sink) + ".v1"; }

struct LaneWorld {
  explicit LaneWorld(std::uint64_t seed) : random(seed) {}

  bool Chance(double probability) { return faults && random.Unit() < probability; }
  store::MemoryStore::Clock Clock() {
    return [this] {
      return Timestamp(
          std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()));
    };
  }
  Status Unavailable() const { return Status::Retry(Code::kUnavailable, "connection lost"); }
  // The next call of such a kind may fail, or be recorded and lose its answer.
  void Disturb(store::MemoryStore& store, Call call) {
    if (Chance(0.01)) store.FailNext(call, Unavailable());
    if (call == Call::kSettle && Chance(0.01)) {
      store.LoseNextSettleAnswer(Status::InDoubt(Code::kUnavailable, "answer lost"));
    }
  }

  TimePoint now{seconds(1'000'000)};
  base::SeededRandom random;
  bool faults = true;
  store::MemoryStore own{Clock()};
  std::array<store::MemoryStore, kLaneSinks> deliveries{store::MemoryStore(Clock()),
                                                        store::MemoryStore(Clock())};
  std::map<std::string, int> seen;  // by payload
  std::array<TimePoint, kLaneSinks> sink_down_until{};
  std::size_t through_lanes = 0;
  std::size_t through_deliveries = 0;
};

RelayOptions LaneRelayOptions() {
  RelayOptions options;
  options.table = "t";
  options.batch_size = kSplitBatch;
  options.window = 2 * kSplitBatch;
  options.lease = kLaneLease;
  options.poll_max = milliseconds(100);
  options.dispatch_timeout = milliseconds(500);
  options.retry = {
      .base = milliseconds(20), .cap = milliseconds(200), .attempts_max = std::nullopt};
  options.probe_min = milliseconds(20);
  options.probe_max = milliseconds(200);
  return options;
}

// A relay for one sink: the core with all its roles, on a LaneStore.
class LaneRelay {
 public:
  LaneRelay(LaneWorld& world, std::size_t sink, const std::string& name,
            const std::shared_ptr<LaneBoard>& board)
      : world_(world),
        sink_(sink),
        store_(world.deliveries[sink].OpenRelay({.table = "d", .relay_id = name}), board,
               {.destination = SinkName(sink),
                .answer_within = milliseconds(0),
                .clock = [&world] { return world.now; }}),
        core_(LaneRelayOptions(), store_.traits(), {.batch_max = 4, .concurrency = 2},
              world.random) {}

  void Wake() { core_.OnWork(world_.now); }

  void Step() {
    if (world_.Chance(0.0005)) core_.Pause(world_.now, paused_ = true);
    if (paused_ && (!world_.faults || world_.Chance(0.005)))
      core_.Pause(world_.now, paused_ = false);
    Publish();
    Claim();
    core_.GiveUpOverdue(world_.now);
    Settle();
  }

 private:
  struct Calling {
    Slice slice;
    TimePoint ends;
  };

  void Claim() {
    world_.Disturb(world_.deliveries[sink_], Call::kNext);
    const ClaimerStep step = core_.NextClaimerStep(world_.now);
    const auto* claim = std::get_if<ClaimStep>(&step);
    if (claim == nullptr) return;
    auto claimed = store_.Next(claim->request, Deadline::After(seconds(1)));
    if (claimed.ok()) {
      core_.OnClaimed(world_.now, world_.now, std::move(*claimed));
    } else {
      core_.OnClaimFailed(world_.now, claimed.error());
    }
  }

  void Publish() {
    while (auto slice = core_.NextSlice(world_.now)) {
      auto ends = world_.now + milliseconds(static_cast<int>(world_.random.Unit() * 40));
      if (world_.Chance(0.02)) ends += seconds(3);  // hangs
      core_.OnReached(*slice);
      calls_.push_back({*slice, ends});
    }
    for (auto call = calls_.begin(); call != calls_.end();) {
      if (world_.now < call->ends) {
        ++call;
        continue;
      }
      Finish(*call);
      call = calls_.erase(call);
    }
  }

  void Finish(const Calling& call) {
    const bool down = world_.faults && world_.now < world_.sink_down_until[sink_];
    std::vector<Status> results;
    for (const Message& message : call.slice.messages()) {
      if (down || message.payload == std::to_string(kLaneRefused)) {
        results.push_back(Status::SinkDown("away"));
      } else if (world_.Chance(0.1)) {
        results.push_back(Status::Retry(Code::kRejected, "refused"));
      } else {
        ++world_.seen[message.payload];
        results.emplace_back();
      }
    }
    core_.OnPublished(world_.now, call.slice, results);
  }

  void Settle() {
    world_.Disturb(world_.own, Call::kSettle);
    world_.Disturb(world_.deliveries[sink_], Call::kSettle);
    for (;;) {
      const SettlerStep step = core_.NextSettlerStep(world_.now);
      if (const auto* settle = std::get_if<SettleStep>(&step)) {
        const auto report =
            settle->held->claim->Settle(settle->outcomes, Deadline::After(seconds(1)));
        if (report.ok()) {
          core_.OnSettled(*settle, *report);
        } else {
          core_.OnSettleFailed(world_.now, *settle, report.error());
        }
      } else if (const auto* extend = std::get_if<ExtendStep>(&step)) {
        const auto lost = extend->held->claim->Extend(kLaneLease, Deadline::After(seconds(1)));
        if (lost.ok()) {
          core_.OnExtended(world_.now, *extend, *lost);
        } else {
          core_.OnExtendFailed(world_.now, *extend);
        }
      } else {
        return;
      }
    }
  }

  LaneWorld& world_;
  const std::size_t sink_;
  LaneStore store_;
  Core core_;
  std::list<Calling> calls_;
  bool paused_ = false;
};

class LaneProcess {
 public:
  LaneProcess(LaneWorld& world, SplitMutant mutant, int number) : world_(world), mutant_(mutant) {
    for (std::size_t sink = 0; sink < kLaneSinks; ++sink) {
      const std::string name = SinkName(sink) + std::to_string(number);
      relays_.push_back(std::make_unique<LaneRelay>(world, sink, name, board_));
      // Leases and splits what goes to this sink.
      own_.push_back(world.own.OpenRelay(
          {.table = "t", .relay_id = name, .filter = {.topics = {TopicOf(sink)}}}));
      board_->OnLeft(SinkName(sink), [relay = relays_.back().get()] { relay->Wake(); });
    }
  }

  void Step() {
    if (world_.now < frozen_until_) return;
    if (world_.Chance(0.0005)) frozen_until_ = world_.now + kLaneLease + seconds(2);
    for (const auto& relay : relays_) relay->Step();
    if (world_.now >= split_at_) Split();
  }

 private:
  void Split() {
    split_at_ = world_.now + milliseconds(10);
    for (const auto& claim : board_->TakeBack(world_.now)) {
      (void)GiveBack(*claim, Deadline::After(seconds(1)));
    }
    const auto lanes = board_->BeginRound(world_.now, kLanePatience);
    bool added = false;
    for (std::size_t sink = 0; sink < kLaneSinks; ++sink) {
      const auto lane = std::ranges::find(lanes, SinkName(sink), &store::LaneRequest::destination);
      if (lane == lanes.end()) {
        added = AddDeliveries(sink) || added;
      } else if (lane->claim.limit > 0) {
        Lease(sink, lane->claim);
      }
    }
    board_->EndRound(added);
  }

  void Lease(std::size_t sink, const store::ClaimRequest& request) {
    world_.Disturb(world_.own, Call::kNext);
    auto claim = own_[sink]->Next(request, Deadline::After(seconds(1)));
    if (!claim.ok() || (*claim)->size() == 0) return;
    world_.through_lanes += (*claim)->size();
    if (mutant_ == SplitMutant::kAcksAsItLeaves) Settle(**claim, store::Outcome::Kind::kDelivered);
    board_->Leave(SinkName(sink), std::move(*claim), world_.now, world_.now);
  }

  // One transaction: both, or nothing.
  bool AddDeliveries(std::size_t sink) {
    auto claim =
        own_[sink]->Next({.limit = kSplitBatch, .lease = kLaneLease}, Deadline::After(seconds(1)));
    if (!claim.ok() || (*claim)->size() == 0) return false;
    if (!Settle(**claim, store::Outcome::Kind::kDelivered)) return false;
    if (mutant_ == SplitMutant::kForgetsTheDelivery) return true;
    for (const Message& message : (*claim)->messages()) {
      world_.deliveries[sink].Put({.topic = message.topic, .payload = message.payload});
      ++world_.through_deliveries;
    }
    return true;
  }

  // Again and again: what a commit does, which is not what is tested here.
  static bool Settle(store::Claim& claim, store::Outcome::Kind kind) {
    std::vector<store::Outcome> outcomes(claim.size());
    for (std::uint32_t i = 0; i < outcomes.size(); ++i) outcomes[i] = {.index = i, .kind = kind};
    for (int attempt = 0; attempt < 5; ++attempt) {
      if (claim.Settle(outcomes, Deadline::After(seconds(1))).ok()) return true;
    }
    return false;
  }

  LaneWorld& world_;
  const SplitMutant mutant_;
  const std::shared_ptr<LaneBoard> board_ =
      std::make_shared<LaneBoard>(std::vector<std::string>{SinkName(0), SinkName(1)}, world_.now);
  std::vector<std::unique_ptr<LaneRelay>> relays_;
  std::vector<std::unique_ptr<store::RelayStore>> own_;
  TimePoint frozen_until_{};
  TimePoint split_at_{};
};

struct LaneVerdict {
  int lost = 0;
  int duplicated = 0;
  int crashes = 0;
  bool drained = false;
  std::size_t through_lanes = 0;
  std::size_t through_deliveries = 0;
};

bool AllDelivered(const store::MemoryStore& store) {
  const auto rows = store.Rows();
  return std::ranges::all_of(rows, [](const auto& row) {
    return row.status == MessageStatus::kDelivered ||
           row.message.payload == std::to_string(kLaneRefused);
  });
}

LaneVerdict SimulateLanes(std::uint64_t seed, SplitMutant mutant) {
  LaneWorld world(seed);
  std::vector<std::unique_ptr<LaneProcess>> processes(seed % 3 == 0 ? 1 : kLaneProcesses);
  LaneVerdict verdict;
  int number = 0;
  int put = 0;
  const TimePoint start = world.now;
  while (world.now < start + kLaneFaults + kLaneHeals && !verdict.drained) {
    world.now += kLaneStep;
    world.faults = world.now < start + kLaneFaults;
    if (put < kLaneMessages && (world.random.Unit() < 0.05 || !world.faults)) {
      const auto sink = static_cast<std::size_t>(put % 2);
      world.own.Put({.topic = TopicOf(sink), .payload = std::to_string(put)});
      ++put;
    }
    for (TimePoint& down_until : world.sink_down_until) {
      if (world.Chance(0.0005)) down_until = world.now + seconds(3);
    }
    for (auto& process : processes) {
      if (process != nullptr && world.Chance(0.001)) {
        process.reset();  // a crash: whatever it knew is gone
        ++verdict.crashes;
      }
      if (process == nullptr) process = std::make_unique<LaneProcess>(world, mutant, ++number);
      process->Step();
    }
    verdict.drained = put == kLaneMessages && AllDelivered(world.own) &&
                      AllDelivered(world.deliveries[0]) && AllDelivered(world.deliveries[1]);
  }
  for (int payload = 0; payload < kLaneMessages; ++payload) {
    const int times = world.seen[std::to_string(payload)];
    if (times == 0 && payload != kLaneRefused) ++verdict.lost;
    verdict.duplicated += std::max(0, times - 1);
  }
  verdict.through_lanes = world.through_lanes;
  verdict.through_deliveries = world.through_deliveries;
  return verdict;
}

int LaneSeeds() {
  const char* value = std::getenv("OUTBOX_SIMULATION_SEEDS");
  return value == nullptr ? 60 : std::atoi(value);
}

TEST(LaneSimulation, LosesNothingAndDrainsOnceHealed) {
  LaneVerdict sum;
  for (int seed = 1; seed <= LaneSeeds(); ++seed) {
    const LaneVerdict verdict = SimulateLanes(static_cast<std::uint64_t>(seed), SplitMutant::kNone);
    ASSERT_TRUE(verdict.drained) << "seed " << seed;
    ASSERT_EQ(verdict.lost, 0) << "seed " << seed;
    sum.crashes += verdict.crashes;
    sum.duplicated += verdict.duplicated;
    sum.through_lanes += verdict.through_lanes;
    sum.through_deliveries += verdict.through_deliveries;
  }
  // Both ways were gone.
  EXPECT_GT(sum.through_lanes, static_cast<std::size_t>(LaneSeeds()));
  EXPECT_GT(sum.through_deliveries, 0u);
  std::cout << "events=" << LaneSeeds() * kLaneMessages << " faults=" << sum.crashes
            << " lost=0 duplicated=" << sum.duplicated << " leased=" << sum.through_lanes
            << " split=" << sum.through_deliveries << " seeds=" << LaneSeeds() << "\n";
}

class LaneSimulationControl : public ::testing::TestWithParam<SplitMutant> {};

TEST_P(LaneSimulationControl, NoticesABrokenSplitter) {
  int lost = 0;
  for (int seed = 1; seed <= 40 && lost == 0; ++seed) {
    lost += SimulateLanes(static_cast<std::uint64_t>(seed), GetParam()).lost;
  }
  EXPECT_GT(lost, 0);
}

INSTANTIATE_TEST_SUITE_P(Mutants, LaneSimulationControl,
                         ::testing::Values(SplitMutant::kForgetsTheDelivery,
                                           SplitMutant::kAcksAsItLeaves));

}  // namespace
}  // namespace outbox::relay
