#include "cli/opened_parts.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <thread>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "cli/database.h"
#include "relay/relay_id.h"
#include "sink/decorate/circuit_breaker.h"
#include "sink/decorate/rate_limit.h"
#include "sink/decorate/tuned.h"

namespace outbox::cli {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::seconds kPausesTimeout{15};
// Connections to the database that are made at a time.
constexpr std::size_t kOpenersMax = 16;

using Task = std::function<Status()>;

// Runs the tasks, several at a time. Returns the first failure in their order.
Status RunTogether(const std::vector<Task>& tasks) {
  std::vector<Status> results(tasks.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < tasks.size(); i = next++) results[i] = tasks[i]();
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < std::min(tasks.size(), kOpenersMax); ++i) others.emplace_back(work);
    work();
  }
  const auto failed = std::find_if(results.begin(), results.end(),
                                   [](const Status& result) { return !result.ok(); });
  return failed == results.end() ? Status::Ok() : *failed;
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
Result<std::vector<store::RelayPause>> PausesAtStart(store::ControlStore& control) {
  auto pauses = control.Pauses(Deadline::After(kPausesTimeout));
  if (!pauses.ok() && pauses.error().disposition() == Disposition::kPermanent) {
    return std::vector<store::RelayPause>();
  }
  return pauses;
}

// kPermanent when one of the sinks can never work.
Status AwaitSinks(const std::vector<OpenedRelay>& relays, RelayObserver& observer) {
  Status refused;
  for (const OpenedRelay& relay : relays) {
    Status status = relay.opening.Await();
    if (status.ok()) continue;
    if (status.disposition() == Disposition::kPermanent) {
      if (refused.ok()) refused = std::move(status);
      continue;
    }
    const std::string& sink = relay.options.destination;
    observer.OnNotice(base::StrCat(relay.display, sink.empty() ? "" : "/", sink),
                      base::StrCat("the sink does not answer yet: ", status.message()));
  }
  return refused;
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

}  // namespace

Result<OpenedParts> OpenParts(const CheckedConfig& checked, RelayObserver& observer,
                              bool cleaners) {
  const config::Config& config = checked.config;
  const std::string& database = config.settings.database;
  OUTBOX_ASSIGN_OR_RETURN(const auto backend, OpenDatabase(database));
  OpenedParts parts{.control = backend->OpenControl()};
  Limiter limiter;
  for (const auto& [settings, made] : checked.sinks) {
    const std::shared_ptr<Sink> sink = limiter.Limit(made, *settings);
    RelayOptions options = settings->relay;
    // Its name is in the leases that a splitter makes for it.
    if (options.relay_id.empty()) options.relay_id = relay::MakeRelayId();
    std::string display = backend->DisplayName(options.table);
    parts.relays.push_back({.options = std::move(options),
                            .display = std::move(display),
                            .sink = sink,
                            .opening = relay::OpenAtStart(sink)});
  }

  // Each writes to its own part; none is moved meanwhile.
  std::vector<Task> tasks;
  std::vector<store::RelayPause> pauses;
  tasks.push_back([&]() -> Status {
    OUTBOX_ASSIGN_OR_RETURN(pauses, PausesAtStart(*parts.control));
    return Status::Ok();
  });
  for (OpenedRelay& relay : parts.relays) {
    tasks.push_back([&relay, &database]() -> Status {
      OUTBOX_ASSIGN_OR_RETURN(relay.store, relay::OpenStore(database, relay.options));
      return Status::Ok();
    });
  }
  for (const config::TableConfig& table : config.tables) {
    const std::string display = backend->DisplayName(table.name);
    if (table.relays && !table.routes.empty())
      parts.splits.push_back({.table = &table, .display = display});
    if (cleaners && table.cleans) parts.cleans.push_back({.table = &table, .display = display});
    if (!table.relays || !table.routes.empty()) continue;
    tasks.push_back([&]() -> Status {
      LookForStranded(*backend, table, observer);
      return Status::Ok();
    });
  }
  for (OpenedSplit& split : parts.splits) {
    tasks.push_back([&]() -> Status {
      store::SplitOptions options = SplitOptionsOf(*split.table);
      for (const OpenedRelay& relay : parts.relays) {
        if (relay.options.table != split.table->name) continue;
        options.lanes.push_back(relay::StoreOptionsOf(relay.options));
      }
      OUTBOX_ASSIGN_OR_RETURN(split.store, backend->OpenSplit(options, CommandDeadline()));
      return TellOfStranded(*split.store, *split.table, split.display, observer);
    });
  }
  for (OpenedClean& clean : parts.cleans) {
    tasks.push_back([&]() -> Status {
      OUTBOX_ASSIGN_OR_RETURN(clean.store,
                              backend->OpenClean(clean.table->name, CommandDeadline()));
      return Status::Ok();
    });
  }
  const Status opened = RunTogether(tasks);
  OUTBOX_RETURN_IF_ERROR(AwaitSinks(parts.relays, observer));
  OUTBOX_RETURN_IF_ERROR(opened);
  for (OpenedRelay& relay : parts.relays) {
    relay.options.start_paused =
        store::FindPause(pauses, relay.display, relay.options.destination) != nullptr;
  }
  return parts;
}

}  // namespace outbox::cli
