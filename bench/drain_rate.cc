#include <algorithm>

#include "base/text.h"
#include "bench/bare_loop.h"
#include "bench/relay_run.h"
#include "bench/scenario.h"

namespace outbox::bench {
namespace {

using base::StrCat;

// For lease claims in batches of 1000. Two bare loops of transaction claims side by side also
// settle side by side, which a relay, that settles on one thread, does not try to match.
constexpr double kLeaseAgainstBareLoop = 0.85;

// Small batches take longer, and their rate needs fewer messages to show.
std::size_t CountFor(const Run& run, const DrainPlan& plan) {
  return plan.batch < 1000 ? run.messages() / 4 : run.messages();
}

// The relay and the bare loop on one connection and on two, in turn; each on a table filled anew.
Status DrainPostgres(Run& run, Scratch& scratch, const DrainPlan& plan) {
  const std::size_t count = CountFor(run, plan);
  Figure figure{.scenario = "drain rate",
                .store = std::string(scratch.store()),
                .what = Describe(plan),
                .unit = "events/s",
                .against = "bare libpq loop"};
  if (plan.mode == ClaimMode::kLease && plan.batch >= 1000) {
    figure.bar = Bar::AtLeast(kLeaseAgainstBareLoop);
  }
  for (int round = 0; round < run.rounds(); ++round) {
    OUTBOX_RETURN_IF_ERROR(run.CheckInterrupted());
    OUTBOX_RETURN_IF_ERROR(scratch.Fill(count));
    OUTBOX_ASSIGN_OR_RETURN(const double one, BareRate(scratch, plan, count, 1));
    OUTBOX_RETURN_IF_ERROR(scratch.Fill(count));
    OUTBOX_ASSIGN_OR_RETURN(const double relay, RelayRate(scratch, plan, count));
    OUTBOX_RETURN_IF_ERROR(scratch.Fill(count));
    OUTBOX_ASSIGN_OR_RETURN(const double two, BareRate(scratch, plan, count, 2));
    figure.rounds.push_back(relay);
    figure.baseline.push_back(std::max(one, two));
    run.Progress(StrCat("drain, PostgreSQL, ", figure.what, ": relay ", FormatNumber(relay),
                        ", bare loop ", FormatNumber(one), " on one connection, ",
                        FormatNumber(two), " on two"));
  }
  run.Add(std::move(figure));
  return Status::Ok();
}

Status DrainSqlite(Run& run, Scratch& scratch, const DrainPlan& plan) {
  const std::size_t count = CountFor(run, plan);
  Figure figure{.scenario = "drain rate",
                .store = std::string(scratch.store()),
                .what = Describe(plan),
                .unit = "events/s",
                .against = "bare sqlite3 loop"};
  for (int round = 0; round < run.rounds(); ++round) {
    OUTBOX_RETURN_IF_ERROR(run.CheckInterrupted());
    OUTBOX_RETURN_IF_ERROR(scratch.Fill(count));
    OUTBOX_ASSIGN_OR_RETURN(const double bare, BareRateSqlite(scratch, plan, count));
    OUTBOX_RETURN_IF_ERROR(scratch.Fill(count));
    OUTBOX_ASSIGN_OR_RETURN(const double relay, RelayRate(scratch, plan, count));
    figure.rounds.push_back(relay);
    figure.baseline.push_back(bare);
    run.Progress(StrCat("drain, SQLite, ", figure.what, ": relay ", FormatNumber(relay),
                        ", bare loop ", FormatNumber(bare)));
  }
  run.Add(std::move(figure));
  return Status::Ok();
}

}  // namespace

Status DrainRate(Run& run) {
  for (Scratch* scratch : run.stores()) {
    const auto drain = scratch == run.postgres() ? DrainPostgres : DrainSqlite;
    for (const ClaimMode mode : {ClaimMode::kLease, ClaimMode::kTransaction}) {
      for (const bool keep : {true, false}) {
        for (const std::size_t batch : {100, 1000}) {
          OUTBOX_RETURN_IF_ERROR(drain(run, *scratch, {mode, keep, batch}));
        }
      }
    }
  }
  return Status::Ok();
}

}  // namespace outbox::bench
