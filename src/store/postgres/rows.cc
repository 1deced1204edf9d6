#include "store/postgres/rows.h"

#include <cstdlib>
#include <cstring>

#include "message/headers_json.h"
#include "store/postgres/wire.h"

namespace outbox::store::postgres {

std::size_t Rows::affected() const noexcept {
  return std::strtoull(PQcmdTuples(result_.get()), nullptr, 10);
}

bool Rows::null(int row, int column) const noexcept {
  return PQgetisnull(result_.get(), row, column) == 1;
}

bool Rows::Bool(int row, int column) const noexcept {
  return !null(row, column) && *PQgetvalue(result_.get(), row, column) != 0;
}

std::int32_t Rows::Int4(int row, int column) const noexcept {
  if (null(row, column)) return 0;
  return wire::Get<std::int32_t>(PQgetvalue(result_.get(), row, column));
}

std::int64_t Rows::Int8(int row, int column) const noexcept {
  if (null(row, column)) return 0;
  return wire::Get<std::int64_t>(PQgetvalue(result_.get(), row, column));
}

std::string_view Rows::Text(int row, int column) const noexcept {
  const auto length = static_cast<std::size_t>(PQgetlength(result_.get(), row, column));
  return {PQgetvalue(result_.get(), row, column), length};
}

Uuid Rows::Id(int row, int column) const noexcept {
  Uuid::Bytes bytes{};
  if (!null(row, column)) {
    std::memcpy(bytes.data(), PQgetvalue(result_.get(), row, column), bytes.size());
  }
  return Uuid(bytes);
}

std::optional<Uuid> Rows::IdOrNull(int row, int column) const noexcept {
  if (null(row, column)) return std::nullopt;
  return Id(row, column);
}

Timestamp Rows::Time(int row, int column) const noexcept {
  return wire::ToTimestamp(Int8(row, column));
}

std::optional<Timestamp> Rows::TimeOrNull(int row, int column) const noexcept {
  if (null(row, column)) return std::nullopt;
  return Time(row, column);
}

Tid Rows::TidAt(int row, int column) const noexcept {
  const char* bytes = PQgetvalue(result_.get(), row, column);
  return {wire::Get<std::uint32_t>(bytes), wire::Get<std::uint16_t>(bytes + 4)};
}

Message ReadMessage(const Rows& rows, int row, const std::string& table) {
  using C = MessageColumns;
  Message message;
  message.id = rows.Id(row, C::kId);
  message.seq = rows.Int8(row, C::kSeq);
  message.table = table;
  message.name_space = rows.Text(row, C::kNamespace);
  message.topic = rows.Text(row, C::kTopic);
  message.event_type = rows.Text(row, C::kEventType);
  message.event_version = rows.Int4(row, C::kEventVersion);
  message.aggregate_type = rows.Text(row, C::kAggregateType);
  message.aggregate_id = rows.Text(row, C::kAggregateId);
  message.key = rows.Text(row, C::kKey);
  message.tenant_id = rows.IdOrNull(row, C::kTenantId);
  message.dedupe_key = rows.Text(row, C::kDedupeKey);
  message.payload = rows.Text(row, C::kPayload);
  if (!rows.null(row, C::kHeaders)) {
    message.headers = message::HeadersFromJson(rows.Text(row, C::kHeaders));
  }
  message.attempt = rows.Int4(row, C::kAttempts);
  message.created_at = rows.Time(row, C::kCreatedAt);
  message.available_at = rows.Time(row, C::kAvailableAt);
  return message;
}

StoredMessage ReadStoredMessage(const Rows& rows, int row, const std::string& table) {
  enum : int {
    kStatus = MessageColumns::kCount,
    kLockedBy,
    kLockedUntil,
    kLastError,
    kUpdatedAt,
    kProcessedAt,
  };
  StoredMessage stored;
  stored.message = ReadMessage(rows, row, table);
  stored.status = ParseMessageStatus(rows.Text(row, kStatus)).value_or(MessageStatus::kPending);
  stored.locked_by = rows.Text(row, kLockedBy);
  stored.locked_until = rows.TimeOrNull(row, kLockedUntil);
  stored.last_error = rows.Text(row, kLastError);
  stored.updated_at = rows.Time(row, kUpdatedAt);
  stored.processed_at = rows.TimeOrNull(row, kProcessedAt);
  return stored;
}

}  // namespace outbox::store::postgres
