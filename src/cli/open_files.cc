#include "cli/open_files.h"

#include <algorithm>

#include "base/text.h"
#include "service/http/connections.h"
#include "service/http/file_limit.h"

namespace outbox::cli {
namespace {

using base::StrCat;

// Generous: measured is about half of it. What a driver or a broker's client opens is its own.
constexpr std::size_t kProcessFiles = 32;     // streams, log, locks, libraries
constexpr std::size_t kSessionFiles = 2;      // SQLite: the database and its log
constexpr std::size_t kRelaySessions = 4;     // claim, settle, heartbeat, listen
constexpr std::size_t kSinkFiles = 8;         // besides one for each call at a time
constexpr std::size_t kTableSessions = 3;     // splitter, cleaner, counts
constexpr std::size_t kServiceFiles = 16;     // listeners, polls, a fetch of keys
constexpr std::size_t kServiceSessions = 10;  // operators' and health's, some idle
// With fewer connections than this a service is not worth its name.
constexpr std::size_t kConnectionsLeast = 16;

std::size_t FilesOfRelays(const CheckedConfig& checked) {
  std::size_t files = kProcessFiles + checked.config.tables.size() * kTableSessions * kSessionFiles;
  for (const ConfiguredSink& sink : checked.sinks) {
    const std::size_t wanted = sink.settings->limits.concurrency;
    const std::size_t calls = sink.sink->traits().concurrency;
    files += kRelaySessions * kSessionFiles + kSinkFiles;
    files += wanted > 0 ? std::min(wanted, calls) : calls;
  }
  return files;
}

std::size_t FilesOfService(const config::Config& config) {
  const std::size_t sessions =
      config.settings.service.workers + config.tables.size() + kServiceSessions;
  return kServiceFiles + sessions * kSessionFiles;
}

Status TooFew(std::size_t allowed, std::size_t needed, std::string_view fewer) {
  return Status::Permanent(
             Code::kUnavailable,
             StrCat("only ", allowed, " open files are allowed, and ", needed, " are needed"))
      .WithHint(StrCat("allow more: ulimit -n ", needed, ", or LimitNOFILE=", needed,
                       " in a unit of systemd", fewer));
}

}  // namespace

Result<ConnectionRoom> ReserveFiles(const CheckedConfig& checked, bool serves,
                                    const log::Logger& logger) {
  const service::ServiceOptions& service = checked.config.settings.service;
  std::size_t reserved = FilesOfRelays(checked);
  constexpr std::string_view kFewerCalls = "; or lower relay.concurrency";
  if (!serves || !service.enabled()) {
    const std::size_t allowed = service::RaiseFileLimit(reserved);
    if (allowed < reserved) return TooFew(allowed, reserved, kFewerCalls);
    return ConnectionRoom{};
  }
  ConnectionRoom room{.listen = service.listen.empty() ? 0 : service.connections,
                      .admin = service.admin_listen.empty() ? 0 : service.admin_connections};
  reserved += FilesOfService(checked.config);
  const auto least = [](std::size_t wanted) { return std::min(wanted, kConnectionsLeast); };
  for (const std::size_t wanted : {room.listen, room.admin}) {
    reserved += wanted > 0 ? service::Connections::kLeavingMax + 1 : 0;
  }
  const std::size_t wanted = reserved + room.listen + room.admin;
  const std::size_t needed = reserved + least(room.listen) + least(room.admin);
  const std::size_t allowed = service::RaiseFileLimit(wanted);
  if (allowed >= wanted) return room;
  if (allowed < needed) return TooFew(allowed, needed, kFewerCalls);
  const std::size_t left = allowed - reserved;
  room.admin = std::min(room.admin, std::max(least(room.admin), left / 8));
  room.listen = std::min(room.listen, left - room.admin);
  logger.Write(log::Level::kWarn, "too few open files are allowed for all HTTP connections",
               {{"allowed", allowed},
                {"wanted", wanted},
                {"connections", room.listen},
                {"admin_connections", room.admin},
                {"hint", "raise LimitNOFILE (ulimit -n), or lower service.connections"}});
  return room;
}

}  // namespace outbox::cli
