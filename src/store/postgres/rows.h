// Rows: the binary result of one statement.
//
// Column numbers are the statement's; asking for a type the column does not have is a bug. NULL
// reads as an empty or zero value; ask `null` where the difference matters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "outbox/message.h"
#include "store/inspect_store.h"
#include "store/postgres/handles.h"
#include "store/postgres/params.h"

namespace outbox::store::postgres {

class Rows {
 public:
  explicit Rows(ResultHandle result) : result_(std::move(result)) {}

  int size() const noexcept { return PQntuples(result_.get()); }
  int columns() const noexcept { return PQnfields(result_.get()); }
  // Rows changed by an INSERT, UPDATE or DELETE, rows returned by a SELECT.
  std::size_t affected() const noexcept;

  bool null(int row, int column) const noexcept;
  bool Bool(int row, int column) const noexcept;
  std::int32_t Int4(int row, int column) const noexcept;
  std::int64_t Int8(int row, int column) const noexcept;
  std::string_view Text(int row, int column) const noexcept;
  Uuid Id(int row, int column) const noexcept;
  std::optional<Uuid> IdOrNull(int row, int column) const noexcept;
  Timestamp Time(int row, int column) const noexcept;
  std::optional<Timestamp> TimeOrNull(int row, int column) const noexcept;
  Tid TidAt(int row, int column) const noexcept;

 private:
  ResultHandle result_;
};

// The columns every statement that returns messages begins with, in this order.
struct MessageColumns {
  enum : int {
    kId,
    kSeq,
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
    kCount,
  };
};

// The message in `row`; attempt is the column `attempts`. `table` is for Message::table.
Message ReadMessage(const Rows& rows, int row, const std::string& table);

// The same for the inspecting statements, which add status, locked_by, locked_until, last_error,
// updated_at and processed_at.
StoredMessage ReadStoredMessage(const Rows& rows, int row, const std::string& table);

}  // namespace outbox::store::postgres
