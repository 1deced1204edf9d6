#include "store/control_store.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace outbox::store {

const RelayPause* FindPause(std::span<const RelayPause> pauses, std::string_view table,
                            std::string_view sink) {
  const auto found = std::find_if(pauses.begin(), pauses.end(), [&](const RelayPause& pause) {
    return pause.Covers(table, sink);
  });
  return found == pauses.end() ? nullptr : &*found;
}

Status ControlTablesMissing() {
  return Status::Permanent(Code::kSchema,
                           "this database has no tables for heartbeats, pauses and the audit")
      .WithHint("run: outboxd migrate up --table T, for any of its outbox tables");
}

Status WholeTableIsPaused(const std::string& table) {
  return Status::Permanent(Code::kConflict, base::StrCat("table ", table, " is paused as a whole"))
      .WithHint("resume it without a sink, then pause the sinks that are to stay paused");
}

Result<std::optional<std::int64_t>> ReadAuditPlace(const AuditFilter& filter) {
  if (filter.after.empty()) return std::optional<std::int64_t>();
  std::int64_t number = 0;
  const char* const end = filter.after.data() + filter.after.size();
  const auto [rest, error] = std::from_chars(filter.after.data(), end, number);
  if (error != std::errc() || rest != end || number < 1) {
    return Status::Invalid("after: is not the next of a page");
  }
  return std::optional(number);
}

AuditPage MakeAuditPage(std::vector<AuditRecord> records, std::size_t limit) {
  AuditPage page{.records = std::move(records), .next = {}};
  if (page.records.size() <= limit) return page;
  page.records.resize(limit);
  if (limit > 0) page.next = std::to_string(page.records.back().number);
  return page;
}

}  // namespace outbox::store
