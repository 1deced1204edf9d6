#include "base/text.h"
#include "bench/relay_run.h"
#include "bench/scenario.h"

namespace outbox::bench {
namespace {

// A drain that keeps the history of its attempts and one that keeps none, in turn.
Status CompareHistory(Run& run, Scratch& scratch, AttemptHistory history) {
  const DrainPlan without{};
  const DrainPlan with{.history = history};
  Figure figure{.scenario = "attempt history",
                .store = std::string(scratch.store()),
                .what = base::StrCat(ToString(history), ", ", Describe(with)),
                .unit = "events/s",
                .against = "off"};
  for (int round = 0; round < run.rounds(); ++round) {
    OUTBOX_RETURN_IF_ERROR(run.CheckInterrupted());
    OUTBOX_RETURN_IF_ERROR(scratch.Fill(run.messages()));
    OUTBOX_ASSIGN_OR_RETURN(const double off, RelayRate(scratch, without, run.messages()));
    OUTBOX_RETURN_IF_ERROR(scratch.Fill(run.messages()));
    OUTBOX_ASSIGN_OR_RETURN(const double on, RelayRate(scratch, with, run.messages()));
    figure.rounds.push_back(on);
    figure.baseline.push_back(off);
    run.Progress(base::StrCat("attempt history, ", scratch.store(), ", ", figure.what, ": ",
                              FormatNumber(on), ", off ", FormatNumber(off)));
  }
  run.Add(std::move(figure));
  return Status::Ok();
}

}  // namespace

Status AttemptCost(Run& run) {
  for (Scratch* scratch : run.stores()) {
    for (const AttemptHistory history : {AttemptHistory::kFailures, AttemptHistory::kAll}) {
      OUTBOX_RETURN_IF_ERROR(CompareHistory(run, *scratch, history));
    }
  }
  return Status::Ok();
}

}  // namespace outbox::bench
