#include "bench/flow/server_cost.h"

#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/text.h"
#include "bench_sql/postgres.h"

namespace outbox::bench {
namespace {

struct ProcessStat {
  std::string name;
  long parent = 0;
  double own = 0, reaped = 0;  // clock ticks: of the process, of its children that have ended
};

std::optional<ProcessStat> ReadStat(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string text;
  if (!std::getline(file, text)) return std::nullopt;
  // "1234 (name of it) S 1 …": a name may hold anything.
  const std::size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos) return std::nullopt;
  ProcessStat stat{.name = text.substr(open + 1, close - open - 1)};
  std::istringstream rest(text.substr(close + 1));
  std::string skipped;
  double user = 0, system = 0, reaped_user = 0, reaped_system = 0;
  rest >> skipped >> stat.parent;
  for (int field = 5; field <= 13; ++field) rest >> skipped;
  rest >> user >> system >> reaped_user >> reaped_system;
  if (!rest) return std::nullopt;
  stat.own = user + system;
  stat.reaped = reaped_user + reaped_system;
  return stat;
}

// Of the server whose backend is the process `backend`.
std::optional<std::chrono::duration<double>> ProcessorTime(const std::string& backend) {
  const auto child = ReadStat(backend);
  if (!child || child->name != "postgres") return std::nullopt;
  const auto server = ReadStat(std::to_string(child->parent));
  if (!server || server->name != "postgres") return std::nullopt;
  double ticks = server->own + server->reaped;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string pid = entry.path().filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto stat = ReadStat(pid);
    if (stat && stat->parent == child->parent) ticks += stat->own;
  }
  return std::chrono::duration<double>(ticks / static_cast<double>(sysconf(_SC_CLK_TCK)));
}

double ToNumber(std::string_view text) {
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

Result<ServerCost> ReadServerCost(PgSession& session) {
  OUTBOX_ASSIGN_OR_RETURN(const PgResult row, session.Query(sql::postgres::kServerCost, {}));
  return ServerCost{.processor = ProcessorTime(PQgetvalue(row.get(), 0, 0)),
                    .wal_bytes = ToNumber(PQgetvalue(row.get(), 0, 1)),
                    .database_bytes = ToNumber(PQgetvalue(row.get(), 0, 2))};
}

}  // namespace outbox::bench
