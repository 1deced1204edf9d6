#include "cli/supervisor.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "cli/database.h"
#include "relay/lane_store.h"
#include "relay/relay_id.h"
#include "relay/start_relay.h"
#include "sink/decorate/circuit_breaker.h"
#include "sink/decorate/rate_limit.h"
#include "sink/decorate/tuned.h"
#include "sink/registry.h"

namespace outbox::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLook{100};
constexpr std::chrono::seconds kHoldsTimeout{15};
// --drain without --timeout: as long as it takes.
constexpr std::chrono::hours kForever{24 * 365};

// The other end of the pipe on standard output has been closed.
bool ReaderGone() {
  pollfd output{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  return poll(&output, 1, 0) > 0 && (output.revents & POLLERR) != 0;
}

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

// What to deliver by: the table's own settings, or those of each of its sinks.
std::vector<const config::Settings*> SinkSettings(const config::TableConfig& table) {
  std::vector<const config::Settings*> settings;
  if (!table.relays) return settings;
  if (table.routes.empty()) settings.push_back(&table.settings);
  for (const config::Destination& destination : table.destinations) {
    settings.push_back(&destination.settings);
  }
  return settings;
}

// The breaker is innermost: it looks at what the sink answers, not at what a limit held back.
std::shared_ptr<Sink> Limited(std::shared_ptr<Sink> sink, const config::SinkLimits& limits) {
  if (limits.breaker_failures > 0) {
    sink = sink::CircuitBreaker(std::move(sink), limits.breaker_failures, limits.breaker_cooldown);
  }
  if (limits.batch > 0 || limits.concurrency > 0) {
    sink = sink::Tuned(std::move(sink),
                       {.batch_max = limits.batch, .concurrency = limits.concurrency});
  }
  if (limits.per_second > 0) {
    const std::size_t burst = limits.burst > 0 ? limits.burst : limits.per_second;
    sink = sink::RateLimit(std::move(sink), static_cast<double>(limits.per_second), burst);
  }
  return sink;
}

// None where the tables for it are missing: the heartbeat says so.
Result<std::vector<store::RelayHold>> HoldsAtStart(store::ControlStore& control) {
  auto holds = control.Holds(Deadline::After(kHoldsTimeout));
  if (!holds.ok() && holds.error().disposition() == Disposition::kPermanent) {
    return std::vector<store::RelayHold>();
  }
  return holds;
}

store::SplitOptions SplitOptionsOf(const config::TableConfig& table) {
  const config::Settings& settings = table.settings;
  return {.table = table.name,
          .filter = settings.relay.filter,
          .unrouted = settings.unrouted.value_or(message::Unrouted::kKeep),
          .completion = settings.relay.completion,
          .keep_delivered = settings.relay.retention.count() > 0,
          .attempt_history = settings.relay.attempt_history};
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
  // An address that can not work is told before the first relay delivers anything.
  std::vector<std::pair<const config::Settings*, std::shared_ptr<Sink>>> sinks;
  for (const config::TableConfig& table : config.tables) {
    for (const config::Settings* settings : SinkSettings(table)) {
      OUTBOX_ASSIGN_OR_RETURN(auto sink, sink::OpenSink(settings->sink));
      sinks.emplace_back(settings, Limited(std::move(sink), settings->limits));
    }
  }
  std::unique_ptr<Supervisor> supervisor(new Supervisor(signals));
  auto control = backend->OpenControl();
  OUTBOX_ASSIGN_OR_RETURN(const auto holds, HoldsAtStart(*control));
  for (const config::TableConfig& table : config.tables) {
    if (!table.relays || table.routes.empty()) continue;
    supervisor->boards_[table.name] = MakeBoard(table);
  }
  for (auto& [settings, sink] : sinks) {
    RelayOptions relay_options = settings->relay;
    const std::string display = backend->DisplayName(relay_options.table);
    relay_options.start_held =
        store::FindHold(holds, display, relay_options.destination) != nullptr;
    OUTBOX_ASSIGN_OR_RETURN(
        auto running, supervisor->StartRelay(database, std::move(relay_options), std::move(sink),
                                             display, observer));
    supervisor->relays_.push_back(std::move(running));
  }
  for (const config::TableConfig& table : config.tables) {
    if (!table.relays || table.routes.empty()) continue;
    OUTBOX_RETURN_IF_ERROR(supervisor->StartSplit(*backend, table, observer));
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
                                                   RelayOptions options, std::shared_ptr<Sink> sink,
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
  OUTBOX_ASSIGN_OR_RETURN(auto relay,
                          relay::StartRelay(database, options, std::move(sink), observer, wrap));
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
  OUTBOX_ASSIGN_OR_RETURN(const auto waiting, store->WaitingDestinations(CommandDeadline()));
  for (const std::string& destination : waiting) {
    const bool served =
        std::any_of(table.destinations.begin(), table.destinations.end(),
                    [&](const config::Destination& known) { return known.name == destination; });
    if (!served) {
      observer->OnNotice(display, base::StrCat("deliveries wait for the sink '", destination,
                                               "', to which no route leads any more"));
    }
  }
  const RelayOptions& options = table.settings.relay;
  splitters_.push_back(relay::Splitter::Start(
      std::move(store), message::Routes(table.routes),
      {.table = display,
       .batch_size = options.batch_size,
       .poll_min = options.poll_min,
       .poll_max = options.poll_max,
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
  const Status stopped = StopAll();
  return ended.ok() ? stopped : ended;
}

Status Supervisor::WaitForEnd(const Until& until, std::vector<std::future<Status>>& drains) {
  while (!signals_.Wait(kLook)) {
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
  return Status::Ok();
}

Status Supervisor::StopAll() {
  for (const auto& splitter : splitters_) splitter->Stop();
  std::vector<std::future<Status>> stops;
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
    if (const auto signal = signals_.Wait(kLook)) _exit(128 + *signal);
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
