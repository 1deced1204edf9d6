#include "store/postgres/params.h"

#include "store/postgres/wire.h"

namespace outbox::store::postgres {
namespace {

// Object ids of the built-in types; fixed since PostgreSQL began.
constexpr std::uint32_t kInt8Oid = 20;
constexpr std::uint32_t kInt2Oid = 21;
constexpr std::uint32_t kTextOid = 25;
constexpr std::uint32_t kTidOid = 27;
constexpr std::uint32_t kUuidOid = 2950;

constexpr int kBinary = 1;

void AppendUuid(std::string& out, const Uuid& id) {
  out.append(reinterpret_cast<const char*>(id.bytes().data()), id.bytes().size());
}

}  // namespace

void Params::Begin() {
  offsets_.push_back(bytes_.size());
  nulls_.push_back(false);
  formats_.push_back(kBinary);
}

Params& Params::End() {
  lengths_.push_back(static_cast<int>(bytes_.size() - offsets_.back()));
  return *this;
}

Params& Params::Null() {
  Begin();
  nulls_.back() = true;
  return End();
}

Params& Params::Bool(bool value) {
  Begin();
  bytes_.push_back(value ? '\1' : '\0');
  return End();
}

Params& Params::BoolOrNull(std::optional<bool> value) { return value ? Bool(*value) : Null(); }

Params& Params::Int8(std::int64_t value) {
  Begin();
  wire::Put(bytes_, value);
  return End();
}

Params& Params::Int8OrNull(std::optional<std::int64_t> value) {
  return value ? Int8(*value) : Null();
}

Params& Params::Int2(std::int16_t value) {
  Begin();
  wire::Put(bytes_, value);
  return End();
}

Params& Params::Int4(std::optional<int> value) {
  if (!value) return Null();
  Begin();
  wire::Put(bytes_, static_cast<std::int32_t>(*value));
  return End();
}

Params& Params::Text(std::string_view value) {
  Begin();
  bytes_ += value;
  return End();
}

Params& Params::TextOrNull(const std::optional<std::string>& value) {
  return value ? Text(*value) : Null();
}

Params& Params::TextUnlessEmpty(std::string_view value) {
  return value.empty() ? Null() : Text(value);
}

Params& Params::UuidOrNull(const std::optional<Uuid>& value) {
  if (!value) return Null();
  Begin();
  AppendUuid(bytes_, *value);
  return End();
}

Params& Params::Time(Timestamp value) { return Int8(wire::FromTimestamp(value)); }

Params& Params::TimeOrNull(const std::optional<Timestamp>& value) {
  return value ? Time(*value) : Null();
}

// One dimension, no NULLs, lower bound 1.
void Params::BeginArray(std::size_t count, std::uint32_t element_type) {
  Begin();
  wire::Put<std::int32_t>(bytes_, 1);
  wire::Put<std::int32_t>(bytes_, 0);
  wire::Put(bytes_, element_type);
  wire::Put(bytes_, static_cast<std::int32_t>(count));
  wire::Put<std::int32_t>(bytes_, 1);
}

Params& Params::Int2Array(std::span<const std::int16_t> values) {
  BeginArray(values.size(), kInt2Oid);
  for (const std::int16_t value : values) {
    wire::Put<std::int32_t>(bytes_, 2);
    wire::Put(bytes_, value);
  }
  return End();
}

Params& Params::Int8Array(std::span<const std::int64_t> values) {
  BeginArray(values.size(), kInt8Oid);
  for (const std::int64_t value : values) {
    wire::Put<std::int32_t>(bytes_, 8);
    wire::Put(bytes_, value);
  }
  return End();
}

Params& Params::TextArray(std::span<const std::string> values) {
  BeginArray(values.size(), kTextOid);
  for (const std::string& value : values) {
    wire::Put(bytes_, static_cast<std::int32_t>(value.size()));
    bytes_ += value;
  }
  return End();
}

Params& Params::UuidArray(std::span<const Uuid> values) {
  BeginArray(values.size(), kUuidOid);
  for (const Uuid& value : values) {
    wire::Put<std::int32_t>(bytes_, 16);
    AppendUuid(bytes_, value);
  }
  return End();
}

Params& Params::TidArray(std::span<const Tid> values) {
  BeginArray(values.size(), kTidOid);
  for (const Tid& value : values) {
    wire::Put<std::int32_t>(bytes_, 6);
    wire::Put(bytes_, value.block);
    wire::Put(bytes_, value.offset);
  }
  return End();
}

std::vector<const char*> Params::Values() const {
  std::vector<const char*> values(offsets_.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = nulls_[i] ? nullptr : bytes_.data() + offsets_[i];
  }
  return values;
}

}  // namespace outbox::store::postgres
