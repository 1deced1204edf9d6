#include "enqueue/encode.h"

#include "base/text.h"
#include "message/headers_json.h"

namespace outbox::enqueue {
namespace {

using Param = Executor::Param;

Param TextOrNull(const std::string& text) { return text.empty() ? Param() : Param(text); }

Param TimestampOrNull(const std::optional<Timestamp>& at, Dialect dialect) {
  if (!at) return std::nullopt;
  if (dialect == Dialect::kPostgres) return base::FormatTimestamp(*at);
  return std::to_string(
      std::chrono::floor<std::chrono::milliseconds>(*at).time_since_epoch().count());
}

// An element of a PostgreSQL array literal: quoted, so that only " and \ need care.
void AppendArrayElement(std::string& literal, const Param& value) {
  literal += literal.empty() ? '{' : ',';
  if (!value) {
    literal += "NULL";
    return;
  }
  // Payloads are most of what is enqueued: they are written in place.
  const std::size_t before = literal.size();
  literal.resize(before + 2 * value->size() + 2);
  char* out = literal.data() + before;
  *out++ = '"';
  for (const char c : *value) {
    if (c == '"' || c == '\\') *out++ = '\\';
    *out++ = c;
  }
  *out++ = '"';
  literal.resize(static_cast<std::size_t>(out - literal.data()));
}

}  // namespace

Fields Encode(const NewMessage& message, const Uuid& id, Dialect dialect) {
  return {id.ToString(),
          message.name_space,
          message.topic,
          TextOrNull(message.event_type),
          std::to_string(message.event_version),
          TextOrNull(message.aggregate_type),
          TextOrNull(message.aggregate_id),
          TextOrNull(message.key),
          message.tenant_id ? Param(message.tenant_id->ToString()) : Param(),
          TextOrNull(message.dedupe_key),
          message.payload,
          TextOrNull(message::HeadersToJson(message)),
          TimestampOrNull(message.available_at, dialect),
          std::to_string(message.delay.count())};
}

std::vector<Param> EncodeMany(std::span<const std::vector<Param>> rows, Dialect dialect) {
  if (dialect == Dialect::kPostgres) {
    std::vector<std::string> columns(rows.empty() ? 0 : rows.front().size());
    for (const auto& row : rows) {
      for (std::size_t i = 0; i < row.size(); ++i) AppendArrayElement(columns[i], row[i]);
    }
    std::vector<Param> params;
    params.reserve(columns.size());
    for (std::string& column : columns) params.emplace_back(std::move(column += '}'));
    return params;
  }
  std::string json = "[";
  for (const auto& row : rows) {
    if (json.size() > 1) json += ',';
    json += '[';
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) json += ',';
      json += row[i] ? base::JsonQuote(*row[i]) : "null";
    }
    json += ']';
  }
  return {json + "]"};
}

}  // namespace outbox::enqueue
