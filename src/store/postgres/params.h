// Params: the parameters of one statement, in PostgreSQL's binary format, in one buffer.
//
// The statement's own casts ($1::bigint) say the types; each Add function names the one it writes.
//
//   Params params;
//   params.Int8(batch).Text(token).TidArray(rows);
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "outbox/message.h"
#include "outbox/uuid.h"

namespace outbox::store::postgres {

// The address of a row version (the system column ctid).
struct Tid {
  std::uint32_t block = 0;
  std::uint16_t offset = 0;
};

class Params {
 public:
  Params& Null();
  Params& Bool(bool value);
  Params& BoolOrNull(std::optional<bool> value);
  Params& Int2(std::int16_t value);
  Params& Int8(std::int64_t value);
  Params& Int8OrNull(std::optional<std::int64_t> value);
  Params& Int4(std::optional<int> value);
  Params& Text(std::string_view value);
  Params& TextOrNull(const std::optional<std::string>& value);
  // An empty string becomes NULL.
  Params& TextUnlessEmpty(std::string_view value);
  Params& UuidOrNull(const std::optional<Uuid>& value);
  // timestamptz; Timestamp::min() and max() are -infinity and infinity.
  Params& Time(Timestamp value);
  Params& TimeOrNull(const std::optional<Timestamp>& value);

  Params& Int2Array(std::span<const std::int16_t> values);
  Params& Int8Array(std::span<const std::int64_t> values);
  Params& TextArray(std::span<const std::string> values);
  Params& UuidArray(std::span<const Uuid> values);
  Params& TidArray(std::span<const Tid> values);

  int size() const noexcept { return static_cast<int>(lengths_.size()); }
  // Valid until the next change; the pointers go to the buffer inside.
  std::vector<const char*> Values() const;
  const int* lengths() const noexcept { return lengths_.data(); }
  const int* formats() const noexcept { return formats_.data(); }

 private:
  void Begin();
  Params& End();
  void BeginArray(std::size_t count, std::uint32_t element_type);

  std::string bytes_;
  std::vector<std::size_t> offsets_;  // into bytes_
  std::vector<bool> nulls_;
  std::vector<int> lengths_;
  std::vector<int> formats_;
};

}  // namespace outbox::store::postgres
