#include "bench/machine.h"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <thread>

#include "base/text.h"
#include "bench/figure.h"
#include "bench/report.h"
#include "outbox/version.h"

namespace outbox::bench {
namespace {

using base::StrCat;

// The text after "name:" in a file of such lines, as /proc has them.
std::string Field(const char* path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos) return std::string(base::Trim(line.substr(colon + 1)));
  }
  return "unknown";
}

std::string Memory() {
  const double kib = std::atof(Field("/proc/meminfo", "MemTotal").c_str());
  return StrCat(FormatNumber(kib / (1024 * 1024)), " GiB");
}

std::string Kernel() {
  utsname name{};
  return uname(&name) == 0 ? StrCat(name.sysname, " ", name.release) : "unknown";
}

// The median time to make one 8 KiB page durable: what every small commit pays.
std::string DurableWrite(const std::string& folder) {
  const std::string path = folder + "/fdatasync";
  const int file = open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return "unknown";
  const std::array<char, 8192> page{};
  std::vector<double> micros;
  for (int i = 0; i < 200; ++i) {
    const auto start = std::chrono::steady_clock::now();
    if (pwrite(file, page.data(), page.size(), 0) < 0 || fdatasync(file) != 0) break;
    micros.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
            .count());
  }
  close(file);
  unlink(path.c_str());
  if (micros.empty()) return "unknown";
  return StrCat(FormatNumber(Summarise(micros).median), " µs for 8 KiB and fdatasync");
}

}  // namespace

std::string LoadAverage() {
  std::ifstream file("/proc/loadavg");
  std::string one, five, fifteen;
  file >> one >> five >> fifteen;
  return StrCat(one, " ", five, " ", fifteen);
}

std::chrono::duration<double> BusyTime() {
  std::ifstream file("/proc/stat");
  std::string cpu;
  double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0;
  file >> cpu >> user >> nice >> system >> idle >> iowait >> irq >> softirq;
  const double ticks = user + nice + system + irq + softirq;
  return std::chrono::duration<double>(ticks / static_cast<double>(sysconf(_SC_CLK_TCK)));
}

std::vector<std::pair<std::string, std::string>> DescribeMachine(const std::string& folder) {
  return {{"outboxd", std::string(Version())},
          {"CPU", StrCat(Field("/proc/cpuinfo", "model name"), ", ",
                         std::thread::hardware_concurrency(), " cores")},
          {"memory", Memory()},
          {"kernel", Kernel()},
          {"durable write", DurableWrite(folder)},
          {"load before", LoadAverage()}};
}

}  // namespace outbox::bench
