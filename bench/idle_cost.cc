#include <chrono>
#include <thread>

#include "base/text.h"
#include "bench/child.h"
#include "bench/pg_session.h"
#include "bench/scenario.h"
#include "bench_sql/postgres.h"

namespace outbox::bench {
namespace {

using base::StrCat;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kSettling{3};
constexpr std::chrono::seconds kMeasured{15};
constexpr std::chrono::seconds kMeasuredQuick{6};

struct Idle {
  double cpu_percent = 0;
  double queries_per_second = 0;
  double resident_megabytes = 0;
};

// Transactions the server has ended so far; none on SQLite, which has no server.
Result<double> CountTransactions(const Run& run, const Scratch& scratch) {
  if (&scratch != run.postgres()) return 0.0;
  OUTBOX_ASSIGN_OR_RETURN(PgSession session, PgSession::Open(scratch.address()));
  OUTBOX_ASSIGN_OR_RETURN(const std::string count,
                          session.Value(sql::postgres::kCountTransactions));
  return std::stod(count);
}

// A relay in a process of its own, as it is deployed; this very program.
Result<Idle> Measure(Run& run, Scratch& scratch) {
  OUTBOX_RETURN_IF_ERROR(scratch.Fill(0));
  OUTBOX_ASSIGN_OR_RETURN(const auto relay,
                          Child::Start({"/proc/self/exe", "relay", "--db", scratch.address(),
                                        "--table", scratch.table(), "--sink", "null:"}));
  std::this_thread::sleep_for(kSettling);
  OUTBOX_ASSIGN_OR_RETURN(const double before, CountTransactions(run, scratch));
  const auto cpu = relay->CpuTime();
  const auto start = steady_clock::now();
  std::this_thread::sleep_for(run.options().quick ? kMeasuredQuick : kMeasured);
  if (!relay->Running())
    return Status::Permanent(Code::kInternal, "the idle relay ended by itself");
  const auto used = relay->CpuTime() - cpu;
  const std::chrono::duration<double> elapsed = steady_clock::now() - start;
  OUTBOX_ASSIGN_OR_RETURN(const double after, CountTransactions(run, scratch));
  return Idle{.cpu_percent = 100 * used / elapsed,
              .queries_per_second = (after - before) / elapsed.count(),
              .resident_megabytes = relay->ResidentMegabytes()};
}

}  // namespace

Status IdleCost(Run& run) {
  for (Scratch* scratch : run.stores()) {
    OUTBOX_RETURN_IF_ERROR(run.CheckInterrupted());
    OUTBOX_ASSIGN_OR_RETURN(const Idle idle, Measure(run, *scratch));
    run.Progress(
        StrCat("idle, ", scratch->store(), ": ", FormatNumber(idle.cpu_percent), " % CPU"));
    const auto add = [&](const char* what, const char* unit, double value, double limit) {
      run.Add({.scenario = "idle relay",
               .store = std::string(scratch->store()),
               .what = what,
               .unit = unit,
               .rounds = {value},
               .bar = Bar::AtMost(limit)});
    };
    add("CPU, of one core", "%", idle.cpu_percent, 1);
    if (scratch == run.postgres()) add("queries", "a second", idle.queries_per_second, 25);
    add("resident memory", "MB", idle.resident_megabytes, 40);
  }
  return Status::Ok();
}

}  // namespace outbox::bench
