#include "cli/supervisor.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "cli/configured_sinks.h"
#include "cli/database.h"
#include "cli/standard_streams.h"
#include "relay/lane_store.h"
#include "relay/relay_id.h"
#include "relay/start_relay.h"
#include "sink/decorate/circuit_breaker.h"
#include "sink/decorate/rate_limit.h"
#include "sink/decorate/tuned.h"

namespace outbox::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLook{100};
constexpr std::chrono::seconds kHoldsTimeout{15};
// --drain without --timeout: as long as it takes.
constexpr std::chrono::hours kForever{24 * 365};

bool AllReady(std::vector<std::future<Status>>& futures) {
  return std::all_of(futures.begin(), futures.end(), [](std::future<Status>& future) {
    return future.wait_for(milliseconds(0)) == std::future_status::ready;
  });
}

Status FirstFailure(std::vector<std::future<Status>>& futures) {
  Status first;
  for (std::future<Status>& future : futures) {
    Status status = future.get();
    if (first.ok()) first = std::move(status);
  }
  return first;
}

// Makes what limits sinks. The rate and the circuit of a named sink hold for it however many tables
// lead to it, as long as they have the same settings.
class Limiter {
 public:
  // The breaker is innermost: it looks at what the sink answers, not at what a limit held back.
  std::shared_ptr<Sink> Limit(std::shared_ptr<Sink> sink, const config::Settings& settings) {
    const config::SinkLimits& limits = settings.limits;
    const std::string& name = settings.relay.destination;
    if (limits.breaker_failures > 0)
      sink = sink::CircuitBreaker(std::move(sink), CircuitOf(name, limits));
    if (limits.batch > 0 || limits.concurrency > 0) {
      sink = sink::Tuned(std::move(sink),
                         {.batch_max = limits.batch, .concurrency = limits.concurrency});
    }
    if (limits.per_second > 0) sink = sink::RateLimit(std::move(sink), BucketOf(name, limits));
    return sink;
  }

 private:
  std::shared_ptr<sink::Circuit> CircuitOf(const std::string& name,
                                           const config::SinkLimits& limits) {
    const auto make = [&] {
      return sink::MakeCircuit(limits.breaker_failures, limits.breaker_cooldown);
    };
    if (name.empty()) return make();
    auto& circuit = circuits_[{name, limits.breaker_failures, limits.breaker_cooldown}];
    if (circuit == nullptr) circuit = make();
    return circuit;
  }

  std::shared_ptr<sink::TokenBucket> BucketOf(const std::string& name,
                                              const config::SinkLimits& limits) {
    const std::size_t burst = limits.burst > 0 ? limits.burst : limits.per_second;
    const auto make = [&] {
      return sink::MakeTokenBucket(static_cast<double>(limits.per_second), burst);
    };
    if (name.empty()) return make();
    auto& bucket = buckets_[{name, limits.per_second, burst}];
    if (bucket == nullptr) bucket = make();
    return bucket;
  }

  std::map<std::tuple<std::string, std::size_t, milliseconds>, std::shared_ptr<sink::Circuit>>
      circuits_;
  std::map<std::tuple<std::string, std::size_t, std::size_t>, std::shared_ptr<sink::TokenBucket>>
      buckets_;
};

// None where the tables for it are missing: the heartbeat says so.
Result<std::vector<store::RelayHold>> HoldsAtStart(store::ControlStore& control) {
  auto holds = control.Holds(Deadline::After(kHoldsTimeout));
  if (!holds.ok() && holds.error().disposition() == Disposition::kPermanent) {
    return std::vector<store::RelayHold>();
  }
  return holds;
}

// All at once: those that are away cost the start no more time than one of them. Returns the Open
// of each, which may still run.
Result<std::vector<relay::SinkOpening>> OpenAll(const std::vector<ConfiguredSink>& sinks,
                                                const store::Backend& backend,
                                                RelayObserver& observer) {
  std::vector<relay::SinkOpening> openings;
  openings.reserve(sinks.size());
  for (const ConfiguredSink& configured : sinks) {
    openings.push_back(relay::OpenAtStart(configured.sink));
  }
  Status refused;
  for (std::size_t i = 0; i < sinks.size(); ++i) {
    Status status = openings[i].Await();
    if (status.ok()) continue;
    if (status.disposition() == Disposition::kPermanent) {
      if (refused.ok()) refused = std::move(status);
      continue;
    }
    const RelayOptions& relay = sinks[i].settings->relay;
    observer.OnNotice(base::StrCat(backend.DisplayName(relay.table),
                                   relay.destination.empty() ? "" : "/", relay.destination),
                      base::StrCat("the sink does not answer yet: ", status.message()));
  }
  if (!refused.ok()) return refused;
  return openings;
}

Status TellOfStranded(store::SplitStore& store, const config::TableConfig& table,
                      std::string_view display, RelayObserver& observer) {
  OUTBOX_ASSIGN_OR_RETURN(const auto waiting, store.WaitingDestinations(CommandDeadline()));
  for (const std::string& destination : waiting) {
    const bool served =
        std::any_of(table.destinations.begin(), table.destinations.end(),
                    [&](const config::Destination& known) { return known.name == destination; });
    if (!served) {
      observer.OnNotice(display, base::StrCat("deliveries wait for the sink '", destination,
                                              "', to which no route leads any more"));
    }
  }
  return Status::Ok();
}

// A table that has no routes may have had some.
void LookForStranded(store::Backend& backend, const config::TableConfig& table,
                     RelayObserver& observer) {
  const std::string display = backend.DisplayName(table.name);
  const auto look = [&]() -> Status {
    OUTBOX_ASSIGN_OR_RETURN(auto store,
                            backend.OpenSplit({.table = table.name}, CommandDeadline()));
    return TellOfStranded(*store, table, display, observer);
  };
  if (const Status looked = look(); !looked.ok()) {
    observer.OnNotice(display, base::StrCat("it is not known whether deliveries wait for sinks "
                                            "without a route: ",
                                            looked.message()));
  }
}

store::SplitOptions SplitOptionsOf(const config::TableConfig& table) {
  const config::Settings& settings = table.settings;
  return {.table = table.name,
          .filter = settings.relay.filter,
          .unrouted = settings.unrouted.value_or(message::Unrouted::kKeep),
          .completion = settings.relay.completion,
          .keep_delivered = settings.relay.retention.count() > 0,
          .attempt_history = settings.relay.attempt_history,
          .last_error_bytes_max = settings.relay.last_error_bytes_max};
}

std::shared_ptr<relay::LaneBoard> MakeBoard(const config::TableConfig& table) {
  std::vector<std::string> names;
  for (const config::Destination& destination : table.destinations) {
    names.push_back(destination.name);
  }
  return std::make_shared<relay::LaneBoard>(names, std::chrono::steady_clock::now());
}

}  // namespace

Result<std::unique_ptr<Supervisor>> Supervisor::Start(
    const config::Config& config, const std::shared_ptr<RelayObserver>& observer,
    const StopSignals& signals, Options options) {
  const std::string& database = config.settings.database;
  OUTBOX_ASSIGN_OR_RETURN(const auto backend, OpenDatabase(database));
  OUTBOX_ASSIGN_OR_RETURN(auto sinks, MakeSinks(config));
  Limiter limiter;
  for (auto& [settings, sink] : sinks) sink = limiter.Limit(std::move(sink), *settings);
  std::unique_ptr<Supervisor> supervisor(new Supervisor(signals));
  auto control = backend->OpenControl();
  OUTBOX_ASSIGN_OR_RETURN(const auto holds, HoldsAtStart(*control));
  OUTBOX_ASSIGN_OR_RETURN(auto openings, OpenAll(sinks, *backend, *observer));
  for (const config::TableConfig& table : config.tables) {
    if (!table.relays || table.routes.empty()) continue;
    supervisor->boards_[table.name] = MakeBoard(table);
  }
  for (std::size_t i = 0; i < sinks.size(); ++i) {
    RelayOptions relay_options = sinks[i].settings->relay;
    const std::string display = backend->DisplayName(relay_options.table);
    relay_options.start_held =
        store::FindHold(holds, display, relay_options.destination) != nullptr;
    OUTBOX_ASSIGN_OR_RETURN(
        auto running, supervisor->StartRelay(database, std::move(relay_options),
                                             {std::move(sinks[i].sink), std::move(openings[i])},
                                             display, observer));
    supervisor->relays_.push_back(std::move(running));
  }
  for (const config::TableConfig& table : config.tables) {
    if (!table.relays) continue;
    if (table.routes.empty()) {
      LookForStranded(*backend, table, *observer);
    } else {
      OUTBOX_RETURN_IF_ERROR(supervisor->StartSplit(*backend, table, observer));
    }
  }
  for (const config::TableConfig& table : config.tables) {
    if (!options.cleaners || !table.cleans) continue;
    OUTBOX_ASSIGN_OR_RETURN(auto store, backend->OpenClean(table.name, CommandDeadline()));
    supervisor->cleaners_.push_back(relay::Cleaner::Start(
        std::move(store), table.settings.cleaner, backend->DisplayName(table.name), observer));
  }
  supervisor->StartHeartbeat(std::move(control), std::move(options.process),
                             config.settings.heartbeat_interval, observer);
  return supervisor;
}

void Supervisor::StartHeartbeat(std::unique_ptr<store::ControlStore> control,
                                store::ProcessInfo process, std::chrono::milliseconds interval,
                                const std::shared_ptr<RelayObserver>& observer) {
  if (relays_.empty()) return;
  std::vector<relay::BeatingRelay> beating;
  for (const Running& running : relays_) {
    beating.push_back({.table = running.display,
                       .sink = running.destination,
                       .single_active = running.single_active,
                       .held = running.held,
                       .relay = running.relay.get()});
  }
  heartbeat_ = relay::Heartbeat::Start(std::move(control),
                                       {.process = std::move(process), .interval = interval},
                                       std::move(beating), observer);
}

Result<Supervisor::Running> Supervisor::StartRelay(const std::string& database,
                                                   RelayOptions options, OpenedSink opened,
                                                   std::string display,
                                                   const std::shared_ptr<RelayObserver>& observer) {
  // Its name is in the leases that the splitter makes for it.
  if (options.relay_id.empty()) options.relay_id = relay::MakeRelayId();
  relay::StoreWrapper wrap;
  if (!options.destination.empty()) {
    wrap = [board = boards_.at(options.table), destination = options.destination](auto store) {
      return std::make_unique<relay::LaneStore>(
          std::move(store), board, relay::LaneStoreOptions{.destination = destination});
    };
  }
  OUTBOX_ASSIGN_OR_RETURN(auto relay, relay::StartRelay(database, options, std::move(opened.sink),
                                                        observer, wrap, std::move(opened.opening)));
  return Running{.table = options.table,
                 .display = std::move(display),
                 .destination = options.destination,
                 .single_active = options.single_active,
                 .held = options.start_held,
                 .store = relay::StoreOptionsOf(options),
                 .relay = std::move(relay)};
}

Status Supervisor::StartSplit(store::Backend& backend, const config::TableConfig& table,
                              const std::shared_ptr<RelayObserver>& observer) {
  const std::string display = backend.DisplayName(table.name);
  const auto& board = boards_.at(table.name);
  store::SplitOptions split_options = SplitOptionsOf(table);
  std::vector<Relay*> relays;
  for (const Running& running : relays_) {
    if (running.table != table.name) continue;
    relays.push_back(running.relay.get());
    split_options.lanes.push_back(running.store);
    board->OnLeft(running.destination, [relay = running.relay.get()] { relay->Wake(); });
  }
  OUTBOX_ASSIGN_OR_RETURN(auto store, backend.OpenSplit(split_options, CommandDeadline()));
  OUTBOX_RETURN_IF_ERROR(TellOfStranded(*store, table, display, *observer));
  const RelayOptions& options = table.settings.relay;
  splitters_.push_back(relay::Splitter::Start(
      std::move(store), message::Routes(table.routes),
      {.table = display,
       .batch_size = options.batch_size,
       .poll_min = options.poll_min,
       .poll_max = options.poll_max,
       .reconnect_max = options.reconnect_max,
       .lease = options.lease,
       .listen = options.listen},
      [relays] {
        for (Relay* relay : relays) relay->Wake();
      },
      observer, board));
  return Status::Ok();
}

Status Supervisor::Run(const Until& until) {
  std::vector<std::future<Status>> drains;
  if (until.drained) {
    const Deadline deadline = Deadline::After(until.timeout.value_or(kForever));
    for (Running& running : relays_) {
      drains.push_back(std::async(std::launch::async, [relay = running.relay.get(), deadline] {
        return relay->Drain(deadline);
      }));
    }
  }
  const Status ended = WaitForEnd(until, drains);
  until.ending();
  const Status stopped = StopAll();
  return ended.ok() ? stopped : ended;
}

Status Supervisor::WaitForEnd(const Until& until, std::vector<std::future<Status>>& drains) {
  while (!signals_.Wait(kLook)) {
    until.looking();
    if (until.drained && AllReady(drains)) return FirstFailure(drains);
    if (until.reader_gone && ReaderGone()) {
      return Status::Permanent(Code::kUnavailable, "nobody reads standard output any more");
    }
    for (const Running& running : relays_) {
      if (running.relay->Stats().state == RelayState::kStopped) {
        return Status::Permanent(Code::kInternal,
                                 base::StrCat("the relay of ", running.table,
                                              running.destination.empty() ? "" : " to ",
                                              running.destination, " has stopped"))
            .WithHint("the log says why");
      }
    }
  }
  told_to_stop_ = true;
  return Status::Ok();
}

Status Supervisor::StopAll() {
  std::vector<std::future<Status>> stops;
  for (const auto& splitter : splitters_) {
    stops.push_back(std::async(std::launch::async, [&splitter] {
      splitter->Stop();
      return Status::Ok();
    }));
  }
  for (Running& running : relays_) {
    stops.push_back(
        std::async(std::launch::async, [relay = running.relay.get()] { return relay->Stop(); }));
  }
  for (const auto& cleaner : cleaners_) {
    stops.push_back(std::async(std::launch::async, [&cleaner] {
      cleaner->Stop();
      return Status::Ok();
    }));
  }
  Await(stops);
  const Status stopped = FirstFailure(stops);
  // Last: what takes its time to stop is still seen.
  if (heartbeat_ != nullptr) {
    stops.clear();
    stops.push_back(std::async(std::launch::async, [this] {
      heartbeat_->Stop();
      return Status::Ok();
    }));
    Await(stops);
  }
  return stopped;
}

void Supervisor::Await(std::vector<std::future<Status>>& stops) {
  while (!AllReady(stops)) {
    const auto signal = signals_.Wait(kLook);
    if (signal && std::exchange(told_to_stop_, true)) _exit(128 + *signal);
  }
}

std::size_t Supervisor::Hold(std::string_view table, std::string_view sink, bool hold) const {
  return heartbeat_ == nullptr ? 0 : heartbeat_->Turn(table, sink, hold);
}

RelayStats Supervisor::Totals() const {
  RelayStats total;
  for (const Running& running : relays_) {
    const RelayStats stats = running.relay->Stats();
    total.claimed += stats.claimed;
    total.delivered += stats.delivered;
    total.retried += stats.retried;
    total.dead += stats.dead;
    total.released += stats.released;
    total.lost += stats.lost;
  }
  return total;
}

}  // namespace outbox::cli
