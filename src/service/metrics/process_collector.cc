#include "service/metrics/process_collector.h"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

namespace outbox::service {
namespace {

using Families = std::vector<prometheus::MetricFamily>;

void AddProcessMetric(Families& families, const std::string& name, const std::string& help,
                      prometheus::MetricType type, double value) {
  prometheus::ClientMetric metric;
  metric.gauge.value = metric.counter.value = value;
  families.push_back({name, help, type, {metric}});
}

void AddProcessGauge(Families& families, const std::string& name, const std::string& help,
                     double value) {
  AddProcessMetric(families, name, help, prometheus::MetricType::Gauge, value);
}

// The fields of proc(5) that we want, counted as there: 14 is utime.
struct ProcessStat {
  double user_ticks = 0;
  double system_ticks = 0;
  double start_ticks = 0;
  double virtual_bytes = 0;
  double resident_pages = 0;
};

std::optional<ProcessStat> ReadProcessStat(const std::string& path) {
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  // The second field is the program's name in parentheses, and may hold anything.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream rest(text.substr(name_end + 1));
  std::array<double, 25> fields{};
  std::string state;
  rest >> state;
  for (std::size_t field = 4; field < fields.size(); ++field) rest >> fields[field];
  if (!rest) return std::nullopt;
  return ProcessStat{.user_ticks = fields[14],
                     .system_ticks = fields[15],
                     .start_ticks = fields[22],
                     .virtual_bytes = fields[23],
                     .resident_pages = fields[24]};
}

std::optional<double> ReadBootTime(const std::string& path) {
  std::ifstream file(path);
  std::string name;
  while (file >> name) {
    double seconds = 0;
    if (name == "btime" && file >> seconds) return seconds;
    std::getline(file, name);
  }
  return std::nullopt;
}

void AddStat(Families& families, const ProcessStat& stat, const std::optional<double>& boot_time) {
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  AddProcessMetric(families, "process_cpu_seconds_total", "User and system CPU time spent.",
                   prometheus::MetricType::Counter, (stat.user_ticks + stat.system_ticks) / ticks);
  AddProcessGauge(families, "process_resident_memory_bytes", "Resident memory size.",
                  stat.resident_pages * static_cast<double>(sysconf(_SC_PAGESIZE)));
  AddProcessGauge(families, "process_virtual_memory_bytes", "Virtual memory size.",
                  stat.virtual_bytes);
  if (!boot_time) return;
  AddProcessGauge(families, "process_start_time_seconds", "Start time since the Unix epoch.",
                  *boot_time + stat.start_ticks / ticks);
}

void AddDescriptors(Families& families, const std::string& folder) {
  std::error_code failed;
  std::size_t open = 0;
  for (std::filesystem::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    ++open;
  }
  if (failed) return;
  AddProcessGauge(families, "process_open_fds", "Open file descriptors.",
                  static_cast<double>(open));
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  AddProcessGauge(families, "process_max_fds", "Most file descriptors that may be open.",
                  static_cast<double>(limit.rlim_cur));
}

}  // namespace

Families ProcessCollector::Collect() const {
  Families families;
  if (const auto stat = ReadProcessStat(proc_ + "/self/stat")) {
    AddStat(families, *stat, ReadBootTime(proc_ + "/stat"));
  }
  AddDescriptors(families, proc_ + "/self/fd");
  return families;
}

}  // namespace outbox::service
