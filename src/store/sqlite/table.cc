#include "store/sqlite/table.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>

#include "base/text.h"
#include "message/headers_json.h"

namespace outbox::store::sqlite {
namespace {

constexpr std::string_view kNowPlaceholder = "{{now}}";
constexpr std::string_view kNow = "CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER)";

Timestamp ToTimestamp(std::int64_t milliseconds) {
  // A dead row's available_at is the largest number there is.
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max() / 1000;
  return Timestamp(std::chrono::milliseconds(std::clamp(milliseconds, -kLargest, kLargest)));
}

// Of a column in which another tool may have written any number.
int Count(std::int64_t number) {
  constexpr std::int64_t kLargest = std::numeric_limits<int>::max();
  return static_cast<int>(std::clamp(number, -kLargest, kLargest));
}

std::optional<Timestamp> ReadTime(const Query& row, int column) {
  if (row.IsNull(column)) return std::nullopt;
  return ToTimestamp(row.Int(column));
}

// Columns in the order of the queries.
enum Column : int {
  kSeq,
  kId,
  kNamespace,
  kTopic,
  kEventType,
  kEventVersion,
  kAggregateType,
  kAggregateId,
  kKey,
  kTenantId,
  kDedupeKey,
  kPayload,
  kHeaders,
  kAttempts,
  kCreatedAt,
  kAvailableAt,
  kStatus,
  kLockedBy,
  kLockedUntil,
  kLastError,
  kUpdatedAt,
  kProcessedAt,
};

}  // namespace

Result<message::TableName> ParseTable(std::string_view text) {
  OUTBOX_ASSIGN_OR_RETURN(message::TableName table, message::TableName::Parse(text, "main"));
  if (table.schema() == "main") return table;
  return Status::Invalid(base::StrCat("table: '", table.Display(),
                                      "' names a schema, and SQLite has only main"))
      .WithHint(base::StrCat("use ", table.name()));
}

std::string Render(const message::TableName& table, std::string_view sql) {
  return Render(table.Render(sql));
}

std::string Render(std::string_view sql) {
  std::string out(sql);
  for (std::size_t at = 0; (at = out.find(kNowPlaceholder, at)) != std::string::npos;) {
    out.replace(at, kNowPlaceholder.size(), kNow);
  }
  return out;
}

Message ReadMessage(const Query& row, const message::TableName& table) {
  Message message;
  message.id = Uuid::Parse(row.Text(kId)).value_or(Uuid());
  message.seq = row.Int(kSeq);
  message.table = table.name();
  message.name_space = row.Text(kNamespace);
  message.topic = row.Text(kTopic);
  message.event_type = row.Text(kEventType);
  message.event_version = Count(row.Int(kEventVersion));
  message.aggregate_type = row.Text(kAggregateType);
  message.aggregate_id = row.Text(kAggregateId);
  message.key = row.Text(kKey);
  message.tenant_id = Uuid::Parse(row.Text(kTenantId));
  message.dedupe_key = row.Text(kDedupeKey);
  message.payload = row.Text(kPayload);
  message.headers = message::HeadersFromJson(row.Text(kHeaders));
  message.attempt = Count(row.Int(kAttempts));
  message.created_at = ToTimestamp(row.Int(kCreatedAt));
  message.available_at = ToTimestamp(row.Int(kAvailableAt));
  return message;
}

StoredMessage ReadStored(const Query& row, const message::TableName& table) {
  StoredMessage stored;
  stored.message = ReadMessage(row, table);
  stored.status = ParseMessageStatus(row.Text(kStatus)).value_or(MessageStatus::kPending);
  stored.locked_by = row.Text(kLockedBy);
  stored.locked_until = ReadTime(row, kLockedUntil);
  stored.last_error = row.Text(kLastError);
  stored.updated_at = ToTimestamp(row.Int(kUpdatedAt));
  stored.processed_at = ReadTime(row, kProcessedAt);
  return stored;
}

Delivery ReadDelivery(const Query& row) {
  return {.destination = std::string(row.Text(0)),
          .status = ParseMessageStatus(row.Text(1)).value_or(MessageStatus::kPending),
          .attempts = Count(row.Int(2)),
          .available_at = ToTimestamp(row.Int(3)),
          .last_error = std::string(row.Text(4)),
          .updated_at = ToTimestamp(row.Int(5)),
          .processed_at = ReadTime(row, 6)};
}

Attempt ReadAttempt(const Query& row) {
  return {.destination = std::string(row.Text(0)),
          .attempt = Count(row.Int(1)),
          .worker = std::string(row.Text(2)),
          .started_at = ToTimestamp(row.Int(3)),
          .ended_at = ToTimestamp(row.Int(4)),
          .result = ParseAttemptResult(row.Text(5)).value_or(AttemptResult::kNoOutcome),
          .error_class = std::string(row.Text(6)),
          .error = std::string(row.Text(7))};
}

}  // namespace outbox::store::sqlite
