#include "base/text.h"
#include "bench/pg_session.h"
#include "bench/relay_run.h"
#include "bench/scenario.h"
#include "bench_sql/postgres.h"

namespace outbox::bench {
namespace {

using base::StrCat;

constexpr double kAgainstUnpinned = 0.75;

Result<double> RateWhilePinned(const Scratch& scratch, const DrainPlan& plan, std::size_t count) {
  OUTBOX_ASSIGN_OR_RETURN(PgSession idler, PgSession::Open(scratch.address()));
  OUTBOX_RETURN_IF_ERROR(idler.Execute("BEGIN ISOLATION LEVEL REPEATABLE READ"));
  OUTBOX_RETURN_IF_ERROR(idler.Execute(sql::postgres::kPinSnapshot));
  return RelayRate(scratch, plan, count);
}

}  // namespace

Status PinnedSnapshot(Run& run) {
  Scratch* const scratch = run.postgres();
  if (scratch == nullptr) return Status::Ok();
  const std::size_t count = run.messages();
  for (const bool keep : {true, false}) {
    const DrainPlan plan{.keep = keep};
    Figure figure{.scenario = "drain with a pinned snapshot",
                  .store = std::string(scratch->store()),
                  .what = Describe(plan),
                  .unit = "events/s",
                  .against = "without",
                  .bar = Bar::AtLeast(kAgainstUnpinned)};
    for (int round = 0; round < run.rounds(); ++round) {
      OUTBOX_RETURN_IF_ERROR(run.CheckInterrupted());
      OUTBOX_RETURN_IF_ERROR(scratch->Fill(count));
      OUTBOX_ASSIGN_OR_RETURN(const double free, RelayRate(*scratch, plan, count));
      OUTBOX_RETURN_IF_ERROR(scratch->Fill(count));
      OUTBOX_ASSIGN_OR_RETURN(const double pinned, RateWhilePinned(*scratch, plan, count));
      figure.rounds.push_back(pinned);
      figure.baseline.push_back(free);
      run.Progress(StrCat("pinned, ", figure.what, ": ", FormatNumber(pinned), ", without ",
                          FormatNumber(free)));
    }
    run.Add(std::move(figure));
  }
  return Status::Ok();
}

}  // namespace outbox::bench
