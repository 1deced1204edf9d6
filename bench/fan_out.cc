#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/text.h"
#include "bench/child.h"
#include "bench/relay_run.h"
#include "bench/scenario.h"

namespace outbox::bench {
namespace {

using base::StrCat;
using std::chrono::steady_clock;

constexpr double kWithTheOtherDown = 0.9;
constexpr double kOneSinkPostgres = 0.8;
constexpr double kOneSinkSqlite = 0.6;
// Two deliveries for each message take their time.
constexpr std::size_t kPartFannedOut = 4;
constexpr std::chrono::minutes kFanOutTimeout{10};
constexpr std::chrono::milliseconds kFanOutPoll{20};
// A disk without room.
constexpr std::string_view kDownSink = "file:/dev/full";

// Every message goes to a file and to `other`.
Status WriteConfig(const Scratch& scratch, const std::string& folder, std::string_view other) {
  std::ofstream file(folder + "/outboxd.toml");
  file << "database = \"" << scratch.address() << "\"\n"
       << "[[sink]]\nname = \"healthy\"\naddress = \"file:" << folder
       << "/healthy.jsonl?fsync=never\"\n"
       << "[[sink]]\nname = \"other\"\naddress = \"" << other << "\"\n"
       << "[[route]]\ntable = \"" << scratch.table() << "\"\ntopics = \"#\"\n"
       << "sinks = [\"healthy\", \"other\"]\n";
  file.close();
  if (file) return Status::Ok();
  return Status::Permanent(Code::kPermission, StrCat("can not write into ", folder));
}

// Counts the lines of a file that grows.
class LineCount {
 public:
  explicit LineCount(const std::string& path) : path_(path) {}

  std::size_t Now() {
    if (file_ == nullptr) file_.reset(std::fopen(path_.c_str(), "rb"));
    if (file_ == nullptr) return 0;
    std::clearerr(file_.get());
    std::array<char, 64 * 1024> buffer;
    while (const std::size_t read = std::fread(buffer.data(), 1, buffer.size(), file_.get())) {
      lines_ += static_cast<std::size_t>(std::count(buffer.data(), buffer.data() + read, '\n'));
    }
    return lines_;
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };

  const std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::size_t lines_ = 0;
};

// Messages a second that reach the healthy sink, from the first to the last.
Result<double> HealthyRate(const Run& run, const Scratch& scratch, const std::string& folder,
                           std::string_view other, std::size_t count) {
  const std::string healthy = folder + "/healthy.jsonl";
  std::filesystem::remove(healthy);
  OUTBOX_RETURN_IF_ERROR(WriteConfig(scratch, folder, other));
  OUTBOX_ASSIGN_OR_RETURN(const auto serve, Child::Start({"/proc/self/exe", "serve", "--config",
                                                          folder + "/outboxd.toml"}));
  LineCount lines(healthy);
  const auto give_up = steady_clock::now() + kFanOutTimeout;
  while (lines.Now() == 0 && serve->Running() && steady_clock::now() < give_up) {
    std::this_thread::sleep_for(kFanOutPoll);
  }
  const auto start = steady_clock::now();
  const std::size_t before = lines.Now();
  while (lines.Now() < count && serve->Running() && steady_clock::now() < give_up) {
    OUTBOX_RETURN_IF_ERROR(run.CheckInterrupted());
    std::this_thread::sleep_for(kFanOutPoll);
  }
  const std::chrono::duration<double> took = steady_clock::now() - start;
  if (lines.Now() < count) {
    return Status::Permanent(Code::kDeadline, "the healthy sink did not get every message");
  }
  return static_cast<double>(count - before) / took.count();
}

Status MeasureFanOut(Run& run, Scratch& scratch, const std::string& folder) {
  const std::size_t count = run.messages() / kPartFannedOut;
  Figure figure{.scenario = "fan-out",
                .store = std::string(scratch.store()),
                .what = "to the healthy of two sinks, the other down",
                .unit = "events/s",
                .against = "both up",
                .bar = Bar::AtLeast(kWithTheOtherDown)};
  for (int round = 0; round < run.rounds(); ++round) {
    OUTBOX_RETURN_IF_ERROR(run.CheckInterrupted());
    OUTBOX_RETURN_IF_ERROR(scratch.Fill(count));
    OUTBOX_ASSIGN_OR_RETURN(const double both, HealthyRate(run, scratch, folder, "null:", count));
    OUTBOX_RETURN_IF_ERROR(scratch.Fill(count));
    OUTBOX_ASSIGN_OR_RETURN(const double alone,
                            HealthyRate(run, scratch, folder, kDownSink, count));
    figure.rounds.push_back(alone);
    figure.baseline.push_back(both);
    run.Progress(StrCat("fan-out, ", figure.store, ": ", FormatNumber(alone),
                        " with the other sink down, ", FormatNumber(both), " with both up"));
  }
  OUTBOX_RETURN_IF_ERROR(scratch.Fill(0));
  run.Add(std::move(figure));
  return Status::Ok();
}

// A message with one destination keeps its state in its own row: routes may not cost much.
Status MeasureOneSink(Run& run, Scratch& scratch) {
  const std::size_t count = run.messages();
  const DrainPlan plan;
  const bool sqlite = scratch.store() == "SQLite";
  Figure figure{.scenario = "fan-out",
                .store = std::string(scratch.store()),
                .what = "one destination through routes, lease, kept",
                .unit = "events/s",
                .against = "a table without routes",
                .bar = Bar::AtLeast(sqlite ? kOneSinkSqlite : kOneSinkPostgres)};
  for (int round = 0; round < run.rounds(); ++round) {
    OUTBOX_RETURN_IF_ERROR(run.CheckInterrupted());
    double plain = 0;
    double routed = 0;
    // Who goes first changes: what else the machine does meets both.
    for (const bool through_routes : {round % 2 == 0, round % 2 != 0}) {
      OUTBOX_RETURN_IF_ERROR(scratch.Fill(count));
      OUTBOX_ASSIGN_OR_RETURN(
          (through_routes ? routed : plain),
          through_routes ? RoutedRate(scratch, plan, count) : RelayRate(scratch, plan, count));
    }
    figure.rounds.push_back(routed);
    figure.baseline.push_back(plain);
    run.Progress(StrCat("fan-out, ", figure.store, ": ", FormatNumber(routed),
                        " to one sink through routes, ", FormatNumber(plain), " without"));
  }
  OUTBOX_RETURN_IF_ERROR(scratch.Fill(0));
  run.Add(std::move(figure));
  return Status::Ok();
}

}  // namespace

Status FanOut(Run& run) {
  std::string folder = (std::filesystem::temp_directory_path() / "outboxd-fan-out.XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    return Status::Permanent(Code::kPermission, StrCat("can not create ", folder));
  }
  Status status;
  for (Scratch* scratch : run.stores()) {
    status = MeasureFanOut(run, *scratch, folder);
    if (status.ok()) status = MeasureOneSink(run, *scratch);
    if (!status.ok()) break;
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return status;
}

}  // namespace outbox::bench
