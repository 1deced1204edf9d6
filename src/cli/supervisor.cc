#include "cli/supervisor.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/text.h"
#include "cli/standard_streams.h"
#include "relay/lane_store.h"
#include "relay/start_relay.h"

namespace outbox::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLook{100};
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

std::shared_ptr<relay::LaneBoard> MakeBoard(const config::TableConfig& table) {
  std::vector<std::string> names;
  for (const config::Destination& destination : table.destinations) {
    names.push_back(destination.name);
  }
  return std::make_shared<relay::LaneBoard>(names, std::chrono::steady_clock::now());
}

}  // namespace

Result<std::unique_ptr<Supervisor>> Supervisor::Start(
    const CheckedConfig& checked, const std::shared_ptr<RelayObserver>& observer,
    const StopSignals& signals, Options options) {
  auto opening = std::async(std::launch::async,
                            [&] { return OpenParts(checked, *observer, options.cleaners); });
  while (opening.wait_for(milliseconds(0)) != std::future_status::ready) {
    if (!signals.Wait(kLook)) continue;
    // Nothing runs yet but attempts to connect, for which it need not wait.
    options.interrupted();
    _exit(EXIT_SUCCESS);
  }
  OUTBOX_ASSIGN_OR_RETURN(OpenedParts parts, opening.get());
  std::unique_ptr<Supervisor> supervisor(new Supervisor(signals));
  std::vector<std::future<Status>> starting;
  starting.push_back(std::async(std::launch::async, [&] {
    return supervisor->StartAll(checked.config, std::move(parts), observer,
                                std::move(options.process));
  }));
  supervisor->Await(starting);
  OUTBOX_RETURN_IF_ERROR(starting[0].get());
  return supervisor;
}

Status Supervisor::StartAll(const config::Config& config, OpenedParts parts,
                            const std::shared_ptr<RelayObserver>& observer,
                            store::ProcessInfo process) {
  for (const config::TableConfig& table : config.tables) {
    if (!table.relays || table.routes.empty()) continue;
    boards_[table.name] = MakeBoard(table);
  }
  for (OpenedRelay& relay : parts.relays) {
    OUTBOX_ASSIGN_OR_RETURN(auto running, StartRelay(std::move(relay), observer));
    relays_.push_back(std::move(running));
  }
  for (OpenedSplit& split : parts.splits) StartSplit(std::move(split), observer);
  for (OpenedClean& clean : parts.cleans) {
    const config::TableConfig& table = *clean.table;
    cleaners_.push_back(relay::Cleaner::Start(std::move(clean.store), table.settings.cleaner,
                                              std::move(clean.display), observer));
  }
  StartHeartbeat(std::move(parts.control), std::move(process), config.settings.heartbeat_interval,
                 observer);
  return Status::Ok();
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
                       .paused = running.paused,
                       .relay = running.relay.get()});
  }
  heartbeat_ = relay::Heartbeat::Start(std::move(control),
                                       {.process = std::move(process), .interval = interval},
                                       std::move(beating), observer);
}

Result<Supervisor::Running> Supervisor::StartRelay(OpenedRelay opened,
                                                   const std::shared_ptr<RelayObserver>& observer) {
  const RelayOptions& options = opened.options;
  if (!options.destination.empty()) {
    opened.store.store = std::make_unique<relay::LaneStore>(
        std::move(opened.store.store), boards_.at(options.table),
        relay::LaneStoreOptions{.destination = options.destination});
  }
  OUTBOX_ASSIGN_OR_RETURN(
      auto relay, relay::StartRelay(std::move(opened.store), options, std::move(opened.sink),
                                    observer, std::move(opened.opening)));
  return Running{.table = options.table,
                 .display = std::move(opened.display),
                 .destination = options.destination,
                 .single_active = options.single_active,
                 .paused = options.start_paused,
                 .relay = std::move(relay)};
}

void Supervisor::StartSplit(OpenedSplit opened, const std::shared_ptr<RelayObserver>& observer) {
  const config::TableConfig& table = *opened.table;
  const auto& board = boards_.at(table.name);
  std::vector<Relay*> relays;
  for (const Running& running : relays_) {
    if (running.table != table.name) continue;
    relays.push_back(running.relay.get());
    board->OnLeft(running.destination, [relay = running.relay.get()] { relay->Wake(); });
  }
  const RelayOptions& options = table.settings.relay;
  splitters_.push_back(relay::Splitter::Start(
      std::move(opened.store), message::Routes(table.routes),
      {.table = opened.display,
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
  while (!told_to_stop_ && !signals_.Wait(kLook)) {
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

std::size_t Supervisor::Pause(std::string_view table, std::string_view sink, bool pause) const {
  return heartbeat_ == nullptr ? 0 : heartbeat_->Turn(table, sink, pause);
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
