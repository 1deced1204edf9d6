#include "cli/supervisor.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "cli/database.h"
#include "sink/registry.h"

namespace outbox::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLook{100};
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

}  // namespace

Result<std::unique_ptr<Supervisor>> Supervisor::Start(const config::Config& config,
                                                      std::shared_ptr<RelayObserver> observer,
                                                      const StopSignals& signals, bool cleaners) {
  const std::string& database = config.settings.database;
  OUTBOX_ASSIGN_OR_RETURN(const auto backend, OpenDatabase(database));
  // An address that can not work is told before the first relay delivers anything.
  std::vector<std::pair<const config::TableConfig*, std::shared_ptr<Sink>>> sinks;
  for (const config::TableConfig& table : config.tables) {
    if (!table.relays) continue;
    OUTBOX_ASSIGN_OR_RETURN(auto sink, sink::OpenSink(table.settings.sink));
    sinks.emplace_back(&table, std::move(sink));
  }
  std::unique_ptr<Supervisor> supervisor(new Supervisor(signals));
  for (auto& [table, sink] : sinks) {
    OUTBOX_ASSIGN_OR_RETURN(
        auto relay, Relay::Start(database, table->settings.relay, std::move(sink), observer));
    supervisor->relays_.push_back({table->name, std::move(relay)});
  }
  for (const config::TableConfig& table : config.tables) {
    if (!cleaners || !table.cleans) continue;
    OUTBOX_ASSIGN_OR_RETURN(auto store, backend->OpenClean(table.name, CommandDeadline()));
    supervisor->cleaners_.push_back(relay::Cleaner::Start(
        std::move(store), table.settings.cleaner, backend->DisplayName(table.name), observer));
  }
  return supervisor;
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
                                 base::StrCat("the relay of ", running.table, " has stopped"))
            .WithHint("the log says why");
      }
    }
  }
  return Status::Ok();
}

Status Supervisor::StopAll() {
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
  while (!AllReady(stops)) {
    if (const auto signal = signals_.Wait(kLook)) _exit(128 + *signal);
  }
  return FirstFailure(stops);
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
