#include <charconv>

#include "base/text.h"
#include "bench/child.h"
#include "bench/relay_run.h"
#include "bench/scenario.h"

namespace outbox::bench {
namespace {

using base::StrCat;

struct Peer {
  const char* name;  // as bench/peers/run knows it
  const char* what;  // for the report
  std::size_t
      divisor;  // slow ones get a fraction of the messages; their rate does not depend on it
};

// The strongest rival, which the bars are about.
constexpr Peer kStrongest{"graphile-local", "graphile-worker, local queue", 1};
constexpr Peer kOthers[] = {{"graphile", "graphile-worker", 10},
                            {"pg-boss", "pg-boss, batch 1000", 4},
                            {"pg-transactional-outbox", "pg-transactional-outbox, batch 1000", 40}};

struct Ours {
  DrainPlan plan;
  double bar;
};
constexpr Ours kOurs[] = {{{.keep = true}, 1.8}, {{.keep = false}, 3.5}};

// The program prints its rate, in events a second, as its last line.
Result<double> PeerRate(Run& run, const Peer& peer) {
  const std::size_t count = run.messages() / peer.divisor;
  const Finished finished = RunChild({"bash", run.options().peers + "/run",
                                      run.postgres()->address(), peer.name, std::to_string(count)});
  const auto lines = base::Split(base::Trim(finished.output), '\n');
  double rate = 0;
  if (finished.exit_code == 0 && !lines.empty()) {
    std::from_chars(lines.back().data(), lines.back().data() + lines.back().size(), rate);
  }
  if (rate <= 0) return Status::Permanent(Code::kInternal, StrCat(peer.name, " gave no rate"));
  run.Progress(StrCat("peers, ", peer.what, ": ", FormatNumber(rate)));
  return rate;
}

Figure MakeFigure(std::string what) {
  return {.scenario = "drain rate beside rivals",
          .store = "PostgreSQL",
          .what = std::move(what),
          .unit = "events/s"};
}

}  // namespace

Status Peers(Run& run) {
  if (run.options().peers.empty() || run.postgres() == nullptr) return Status::Ok();
  Scratch& scratch = *run.postgres();
  std::vector<Figure> figures;
  for (const Ours& ours : kOurs) {
    Figure figure = MakeFigure(StrCat("outboxd, ", Describe(ours.plan)));
    figure.against = kStrongest.what;
    figure.bar = Bar::AtLeast(ours.bar);
    figures.push_back(std::move(figure));
  }
  Figure strongest = MakeFigure(kStrongest.what);
  strongest.rival = true;
  for (int round = 0; round < run.rounds(); ++round) {
    OUTBOX_RETURN_IF_ERROR(run.CheckInterrupted());
    OUTBOX_ASSIGN_OR_RETURN(const double theirs, PeerRate(run, kStrongest));
    strongest.rounds.push_back(theirs);
    for (std::size_t i = 0; i < figures.size(); ++i) {
      OUTBOX_RETURN_IF_ERROR(scratch.Fill(run.messages()));
      OUTBOX_ASSIGN_OR_RETURN(const double rate, RelayRate(scratch, kOurs[i].plan, run.messages()));
      figures[i].rounds.push_back(rate);
      figures[i].baseline.push_back(theirs);
      run.Progress(StrCat("peers, ", figures[i].what, ": ", FormatNumber(rate)));
    }
  }
  for (Figure& figure : figures) run.Add(std::move(figure));
  run.Add(std::move(strongest));
  for (const Peer& peer : kOthers) {
    OUTBOX_RETURN_IF_ERROR(run.CheckInterrupted());
    const auto rate = PeerRate(run, peer);
    if (!rate.ok()) {
      run.Note(rate.error().message());
      continue;
    }
    Figure figure = MakeFigure(peer.what);
    figure.rival = true;
    figure.rounds = {*rate};
    run.Add(std::move(figure));
  }
  return Status::Ok();
}

}  // namespace outbox::bench
