#include "log/log_observer.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace outbox::log {
namespace {

// Distinct errors remembered at a time; when more turn up, all are forgotten and written anew.
constexpr std::size_t kRepeatedMax = 1000;

std::int64_t Millis(RelayObserver::Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

std::string Clean(std::string_view text) {
  return base::CleanError(text, LogObserver::kErrorBytesMax);
}

// A relay calls itself by its table, in a table with routes by its sink too: "public.orders/mq".
struct RelayName {
  explicit RelayName(std::string_view name)
      : table(name.substr(0, name.find('/'))),
        sink(name.substr(std::min(table.size() + 1, name.size()))) {}

  std::string_view table;
  std::string_view sink;
};

std::vector<Field> About(const Message& message) {
  return {{"table", message.table},
          {"sink", message.destination},
          {"topic", message.topic},
          {"event_id", message.id.ToString()},
          {"tenant_id", message.tenant_id ? message.tenant_id->ToString() : ""},
          {"seq", message.seq},
          {"attempts", message.attempt}};
}

}  // namespace

void LogObserver::OnStateChanged(std::string_view relay, RelayState state, std::string_view why) {
  const Level level = state == RelayState::kWaitingForSink ? Level::kWarn : Level::kInfo;
  const RelayName name(relay);
  logger_->Write(level, base::StrCat("relay ", base::InWords(ToString(state))),
                 {{"table", name.table},
                  {"sink", name.sink},
                  {"state", ToString(state)},
                  {"why", Clean(why)}});
}

void LogObserver::OnLeaderChanged(std::string_view relay, bool leading) {
  const RelayName name(relay);
  logger_->Write(Level::kInfo, leading ? "leadership gained" : "leadership given up",
                 {{"table", name.table}, {"sink", name.sink}, {"leading", leading}});
}

void LogObserver::OnClaimed(std::string_view relay, std::size_t count, Duration took) {
  if (count == 0 || !logger_->Enabled(Level::kDebug)) return;
  const RelayName name(relay);
  logger_->Write(
      Level::kDebug, "claimed",
      {{"table", name.table}, {"sink", name.sink}, {"count", count}, {"took_ms", Millis(took)}});
}

void LogObserver::OnPublished(const Message& message, const Status& result, Duration took) {
  // An outage refuses every message there is; the change to "waiting for sink" has told of it.
  const bool told_elsewhere = result.ok() || result.disposition() == Disposition::kSinkDown;
  const Level level = told_elsewhere ? Level::kDebug : Level::kWarn;
  if (!logger_->Enabled(level)) return;
  std::vector<Field> fields = About(message);
  fields.emplace_back("took_ms", Millis(took));
  if (!result.ok()) {
    fields.emplace_back("disposition", ToString(result.disposition()));
    fields.emplace_back("error", Clean(result.ToString()));
  }
  logger_->Write(level, result.ok() ? "dispatched" : "dispatch failed", fields);
}

void LogObserver::OnSettled(std::string_view relay, const SettleCounts& counts, Duration took) {
  if (!logger_->Enabled(Level::kDebug)) return;
  const RelayName name(relay);
  logger_->Write(Level::kDebug, "settled",
                 {{"table", name.table},
                  {"sink", name.sink},
                  {"delivered", counts.delivered},
                  {"retried", counts.retried},
                  {"dead", counts.dead},
                  {"released", counts.released},
                  {"lost", counts.lost},
                  {"took_ms", Millis(took)}});
}

void LogObserver::OnDead(const Message& message, const Status& result) {
  std::vector<Field> fields = About(message);
  fields.emplace_back("error", Clean(result.ToString()));
  logger_->Write(Level::kError, "message dead", fields);
}

void LogObserver::OnLeaseLost(const Message& message) {
  logger_->Write(Level::kWarn, "lease lost", About(message));
}

void LogObserver::OnSplit(std::string_view table, std::size_t messages, std::size_t deliveries,
                          std::size_t unrouted, Duration took) {
  const Level level = unrouted > 0 ? Level::kWarn : Level::kDebug;
  if (!logger_->Enabled(level)) return;
  logger_->Write(level, unrouted > 0 ? "messages without a route" : "split",
                 {{"table", table},
                  {"messages", messages},
                  {"deliveries", deliveries},
                  {"unrouted", unrouted},
                  {"took_ms", Millis(took)}});
}

void LogObserver::OnStoreError(std::string_view relay, std::string_view operation,
                               const Status& error, Duration retry_in) {
  const std::string text = Clean(error.ToString());
  const auto left_out = Admit(base::StrCat(relay, "\n", operation, "\n", text));
  if (!left_out) return;
  const RelayName name(relay);
  std::vector<Field> fields{{"table", name.table},    {"sink", name.sink},
                            {"operation", operation}, {"error", text},
                            {"hint", error.hint()},   {"retry_in_ms", Millis(retry_in)}};
  if (*left_out > 0) fields.emplace_back("repeated", *left_out);
  logger_->Write(Level::kWarn, "database error", fields);
}

void LogObserver::OnPurged(std::string_view table, const PurgeCounts& counts, Duration took) {
  if (counts.Sum() == 0) return;
  logger_->Write(Level::kInfo, "purged",
                 {{"table", table},
                  {"delivered", counts.delivered},
                  {"dead", counts.dead},
                  {"audit", counts.audit},
                  {"took_ms", Millis(took)}});
}

void LogObserver::OnNotice(std::string_view relay, std::string_view text) {
  const RelayName name(relay);
  logger_->Write(Level::kInfo, Clean(text), {{"table", name.table}, {"sink", name.sink}});
}

std::optional<std::int64_t> LogObserver::Admit(const std::string& what) {
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  if (repeated_.size() >= kRepeatedMax) repeated_.clear();
  const auto [entry, is_new] = repeated_.try_emplace(what, Repeated{.written = now});
  if (is_new) return 0;
  Repeated& repeated = entry->second;
  if (now - repeated.written < kRepeatAfter) {
    ++repeated.left_out;
    return std::nullopt;
  }
  repeated.written = now;
  return std::exchange(repeated.left_out, 0);
}

}  // namespace outbox::log
