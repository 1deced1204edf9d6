#include "bench/bench.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "base/text.h"
#include "bench/interrupt.h"
#include "bench/machine.h"
#include "bench/pg_session.h"
#include "bench/private_postgres.h"
#include "bench/report.h"
#include "bench/scenario.h"
#include "bench/scratch.h"
#include "bench_sql/postgres.h"

namespace outbox::bench {
namespace {

using base::StrCat;

constexpr double kBuildMinutesMax = 6;

// A folder that goes with the run.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> Make() {
    const char* base = std::getenv("TMPDIR");
    std::string pattern = StrCat(base != nullptr ? base : "/tmp", "/outboxd-bench.XXXXXX");
    if (mkdtemp(pattern.data()) == nullptr) {
      return Status::Permanent(Code::kPermission, StrCat("can not create ", pattern))
          .WithHint("set TMPDIR to a folder that can be written");
    }
    return TemporaryFolder(std::move(pattern));
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const noexcept { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

// The databases of a run. Members are destroyed in reverse: scratch databases before their server.
struct Databases {
  std::unique_ptr<PrivatePostgres> server;
  std::unique_ptr<Scratch> postgres;
  std::unique_ptr<Scratch> sqlite;
};

Status OpenPostgres(const BenchOptions& options, const std::string& folder, Databases& databases,
                    Report& report) {
  std::string address = options.db;
  if (address.empty()) {
    auto server = PrivatePostgres::Start(folder);
    if (!server.ok()) {
      report.notes.push_back(
          StrCat("PostgreSQL left out: ", server.error().message(), "; ", server.error().hint()));
      return Status::Ok();
    }
    databases.server = std::move(*server);
    address = databases.server->url();
  }
  OUTBOX_ASSIGN_OR_RETURN(databases.postgres, MakePostgresScratch(address));
  OUTBOX_ASSIGN_OR_RETURN(PgSession session, PgSession::Open(address));
  OUTBOX_ASSIGN_OR_RETURN(const std::string server, session.Value(sql::postgres::kDescribeServer));
  report.machine.emplace_back("server", server);
  return Status::Ok();
}

Status WriteFile(const std::string& path, const std::string& text) {
  if (path.empty()) return Status::Ok();
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file) return Status::Ok();
  return Status::Permanent(Code::kPermission, StrCat("can not write ", path));
}

bool Wanted(const BenchOptions& options, std::string_view scenario) {
  return options.only.empty() ||
         std::find(options.only.begin(), options.only.end(), scenario) != options.only.end();
}

Status CheckOnly(const BenchOptions& options) {
  const auto known = ScenarioNames();
  for (const std::string& name : options.only) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return Status::Invalid(StrCat("bench: there is no scenario '", name, "'"))
          .WithHint(StrCat("there are: ", base::Join(known, ", ")));
    }
  }
  return Status::Ok();
}

// A scenario that fails is noted, and the others run all the same. Returns the first failure.
Status RunScenarios(Run& run, const BenchOptions& options) {
  Status first;
  for (const Scenario& scenario : Scenarios()) {
    if (!Wanted(options, scenario.name)) continue;
    const Status status = scenario.run(run);
    if (status.ok()) continue;
    const std::string failed = StrCat("bench: ", scenario.name, " failed: ", status.ToString());
    run.Note(failed);
    if (first.ok()) first = Status::Permanent(status.code(), failed).WithHint(status.hint());
    if (status.code() == Code::kCancelled) break;
  }
  return first;
}

void AddBuildTime(const BenchOptions& options, Report& report) {
  if (!options.build_seconds) return;
  report.figures.push_back({.scenario = "build",
                            .store = "from nothing, without ccache",
                            .what = "make build",
                            .unit = "min",
                            .rounds = {*options.build_seconds / 60},
                            .bar = Bar::AtMost(kBuildMinutesMax)});
}

}  // namespace

std::vector<std::string> ScenarioNames() {
  std::vector<std::string> names;
  for (const Scenario& scenario : Scenarios()) names.emplace_back(scenario.name);
  return names;
}

Status RunBench(const BenchOptions& options) {
  OUTBOX_RETURN_IF_ERROR(CheckOnly(options));
  OUTBOX_RETURN_IF_ERROR(CheckSinks(options.sinks));
  const Interrupt interrupt;
  OUTBOX_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::Make());
  Report report;
  report.machine = DescribeMachine(folder.path());
  Databases databases;
  OUTBOX_RETURN_IF_ERROR(OpenPostgres(options, folder.path(), databases, report));
  OUTBOX_ASSIGN_OR_RETURN(databases.sqlite, MakeSqliteScratch(folder.path()));

  Run run(options, databases.postgres.get(), databases.sqlite.get(), report);
  Status status = RunScenarios(run, options);
  AddBuildTime(options, report);
  report.machine.emplace_back("load after", LoadAverage());

  std::fputs(FormatTable(report).c_str(), stdout);
  OUTBOX_RETURN_IF_ERROR(WriteFile(options.json_path, FormatJson(report)));
  OUTBOX_RETURN_IF_ERROR(WriteFile(options.svg_path, FormatSvg(report)));
  if (status.ok() && options.check && !report.AllBarsPassed()) {
    status = Status::Permanent(Code::kRejected, "bench: a bar was missed");
  }
  return status;
}

}  // namespace outbox::bench
