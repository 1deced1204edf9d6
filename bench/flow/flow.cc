// Events on their way: producers and a consumer at once, beside rival queues on the same server.
#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "bench/child.h"
#include "bench/flow/contender.h"
#include "bench/flow/server_cost.h"
#include "bench/scenario.h"
#include "bench_sql/postgres.h"

namespace outbox::bench {
namespace {

using base::StrCat;

constexpr double kDeletedAgainstPgq = 0.95;
constexpr double kKeptAgainstPgq = 0.85;
constexpr double kLatencyAgainstPgq = 1.0;
constexpr std::chrono::milliseconds kWarmUpQuick{500};
constexpr std::chrono::milliseconds kMeasuredQuick{2500};

using Mark = std::function<void()>;

struct Sample {
  LoadResult load;
  // An event: processor time of the server (0 when it runs on another machine), and of producers
  // and consumer.
  double server_us = 0, client_us = 0;
  double wal_bytes = 0, disk_bytes = 0;
};

// One side of the comparison: measured once a round.
struct Side {
  std::string name;
  bool rival = false;
  std::optional<double> rate_bar;  // against PgQ
  // Calls the mark when its measuring begins and when it ends.
  std::function<Result<LoadResult>(const LoadOptions&, const Mark&)> measure;
  std::vector<Sample> rounds = {};
};

Result<LoadResult> MeasureContender(Contender& contender, const LoadOptions& options,
                                    const Mark& mark) {
  Load load(options);
  OUTBOX_RETURN_IF_ERROR(contender.Start(load));
  const auto measured = [&]() -> Result<LoadResult> {
    OUTBOX_ASSIGN_OR_RETURN(const auto producers, contender.Producers());
    return load.Run(producers, mark);
  }();
  // What ended the consumer says more than that its events are missing.
  OUTBOX_RETURN_IF_ERROR(contender.Stop());
  return measured;
}

// The rival's program says "measuring" when it begins to measure and "measured" when that has
// ended, each on a line; the last line is one JSON object.
Result<LoadResult> MeasurePeer(const BenchOptions& options, const std::string& address,
                               const std::string& peer, const LoadOptions& load, const Mark& mark) {
  const Finished finished = RunChild({"bash", options.peers + "/run", address, peer + "-flow",
                                      StrCat(load.warm_up.count(), ",", load.measured.count(), ",",
                                             load.producers, ",", load.batch, ",", load.depth)},
                                     [&](std::string_view line) {
                                       if (line == "measuring" || line == "measured") mark();
                                     });
  const auto lines = base::Split(base::Trim(finished.output), '\n');
  const auto report =
      nlohmann::json::parse(lines.empty() ? "" : lines.back(), nullptr, /*allow_exceptions=*/false);
  if (finished.exit_code != 0 || !report.is_object()) {
    return Status::Permanent(Code::kInternal, StrCat(peer, " gave no figures"));
  }
  return LoadResult{.events = report.value("events", std::size_t{0}),
                    .rate = report.value("rate", 0.0),
                    .p50 = report.value("p50", 0.0),
                    .p99 = report.value("p99", 0.0),
                    .client_processor = report.value("processor", 0.0)};
}

Result<Sample> MeasureSide(Scratch& scratch, const Side& side, const LoadOptions& options) {
  OUTBOX_ASSIGN_OR_RETURN(PgSession session, PgSession::Open(scratch.address()));
  OUTBOX_RETURN_IF_ERROR(session.Execute(sql::postgres::kDropRivals));
  OUTBOX_RETURN_IF_ERROR(scratch.Fill(0));
  std::vector<Result<ServerCost>> costs;
  OUTBOX_ASSIGN_OR_RETURN(const LoadResult load,
                          side.measure(options, [&] { costs.push_back(ReadServerCost(session)); }));
  if (load.events == 0 || load.rate <= 0 || costs.size() != 2) {
    return Status::Permanent(Code::kInternal, StrCat(side.name, " delivered nothing"));
  }
  OUTBOX_ASSIGN_OR_RETURN(const ServerCost before, std::move(costs.front()));
  OUTBOX_ASSIGN_OR_RETURN(const ServerCost after, std::move(costs.back()));
  const auto events = static_cast<double>(load.events);
  Sample sample{.load = load,
                .client_us = load.client_processor * 1e6 / events,
                .wal_bytes = (after.wal_bytes - before.wal_bytes) / events,
                // Less than nothing where vacuum has cut a table off meanwhile.
                .disk_bytes = std::max(0.0, after.database_bytes - before.database_bytes) / events};
  if (before.processor && after.processor) {
    sample.server_us = (*after.processor - *before.processor).count() * 1e6 / events;
  }
  return sample;
}

std::vector<Side> Sides(Run& run, Scratch& scratch, bool pgq) {
  std::vector<Side> sides;
  const auto contender = [&](std::shared_ptr<Contender> queue, bool rival,
                             std::optional<double> bar) {
    sides.push_back(
        {queue->name(), rival, bar, [queue](const LoadOptions& options, const Mark& mark) {
           return MeasureContender(*queue, options, mark);
         }});
  };
  if (pgq) contender(MakePgq(scratch), true, std::nullopt);
  for (const bool keep : {false, true}) {
    for (const EnqueueBy by : {EnqueueBy::kLibrary, EnqueueBy::kFunction}) {
      contender(MakeOutboxd(scratch, by, keep), false, keep ? kKeptAgainstPgq : kDeletedAgainstPgq);
    }
  }
  if (run.options().peers.empty()) return sides;
  for (const auto& [peer, name] : {std::pair{"graphile", "graphile-worker, local queue"},
                                   std::pair{"pg-boss", "pg-boss, batch 1000"}}) {
    sides.push_back({name, true, std::nullopt,
                     [&run, &scratch, program = std::string(peer)](const LoadOptions& options,
                                                                   const Mark& mark) {
                       return MeasurePeer(run.options(), scratch.address(), program, options, mark);
                     }});
  }
  return sides;
}

struct Aspect {
  const char* what;
  const char* unit;
  double (*of)(const Sample&);
  // Against PgQ; null: none.
  std::optional<Bar> (*bar)(const Side&) = [](const Side&) -> std::optional<Bar> { return {}; };
};

constexpr Aspect kAspects[] = {
    {"", "events/s", [](const Sample& sample) { return sample.load.rate; },
     [](const Side& side) -> std::optional<Bar> {
       if (!side.rate_bar) return std::nullopt;
       return Bar::AtLeast(*side.rate_bar);
     }},
    {", p50", "ms", [](const Sample& sample) { return sample.load.p50; }},
    {", p99", "ms", [](const Sample& sample) { return sample.load.p99; },
     [](const Side&) -> std::optional<Bar> { return Bar::AtMost(kLatencyAgainstPgq); }},
    {", server's processor", "µs/event", [](const Sample& sample) { return sample.server_us; }},
    {", clients' processor", "µs/event", [](const Sample& sample) { return sample.client_us; }},
    {", WAL", "bytes/event", [](const Sample& sample) { return sample.wal_bytes; }},
    {", disk", "bytes/event", [](const Sample& sample) { return sample.disk_bytes; }},
};

std::vector<double> Rounds(const Side& side, const Aspect& aspect) {
  std::vector<double> rounds;
  for (const Sample& sample : side.rounds) rounds.push_back(aspect.of(sample));
  return rounds;
}

void AddFigures(Run& run, const Side& side, const Side* pgq) {
  for (const Aspect& aspect : kAspects) {
    Figure figure{.scenario = "producers and consumer at once",
                  .store = "PostgreSQL",
                  .what = StrCat(side.name, aspect.what),
                  .unit = aspect.unit,
                  .rival = side.rival,
                  .rounds = Rounds(side, aspect)};
    if (pgq != nullptr && !side.rival) {
      figure.against = pgq->name;
      figure.baseline = Rounds(*pgq, aspect);
      figure.bar = aspect.bar(side);
    }
    run.Add(std::move(figure));
  }
}

}  // namespace

Status Flow(Run& run) {
  Scratch* const scratch = run.postgres();
  if (scratch == nullptr) return Status::Ok();
  OUTBOX_ASSIGN_OR_RETURN(const bool pgq, HasPgq(*scratch));
  if (!pgq) run.Note("PgQ is not installed (postgresql-15-pgq3): no comparison with it");
  LoadOptions options;
  if (run.options().quick) {
    options.warm_up = kWarmUpQuick;
    options.measured = kMeasuredQuick;
  }
  std::vector<Side> sides = Sides(run, *scratch, pgq);
  for (int round = 0; round < run.rounds(); ++round) {
    for (Side& side : sides) {
      OUTBOX_RETURN_IF_ERROR(run.CheckInterrupted());
      OUTBOX_ASSIGN_OR_RETURN(const Sample sample, MeasureSide(*scratch, side, options));
      side.rounds.push_back(sample);
      run.Progress(StrCat("flow, ", side.name, ": ", FormatNumber(sample.load.rate),
                          " events/s, p50 ", FormatNumber(sample.load.p50), " ms, p99 ",
                          FormatNumber(sample.load.p99), " ms"));
    }
  }
  for (const Side& side : sides) AddFigures(run, side, pgq ? &sides.front() : nullptr);
  return Status::Ok();
}

}  // namespace outbox::bench
