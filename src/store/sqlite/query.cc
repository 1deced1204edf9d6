#include "store/sqlite/query.h"

#include "store/sqlite/connection.h"

namespace outbox::store::sqlite {

Query& Query::Bind(int parameter, std::int64_t value) noexcept {
  bind_error_ |= sqlite3_bind_int64(statement_, parameter, value);
  return *this;
}

Query& Query::Bind(int parameter, std::string_view text) noexcept {
  // A view without data would bind NULL.
  const char* data = text.data() == nullptr ? "" : text.data();
  bind_error_ |=
      sqlite3_bind_text64(statement_, parameter, data, text.size(), SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

Query& Query::BindNull(int parameter) noexcept {
  bind_error_ |= sqlite3_bind_null(statement_, parameter);
  return *this;
}

Result<bool> Query::Step() {
  if (bind_error_ != SQLITE_OK) return connection_->LastError();
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return connection_->LastError();
}

Result<std::int64_t> Query::Run() {
  const std::int64_t before = connection_->total_changes();
  bool more = true;
  while (more) {
    OUTBOX_ASSIGN_OR_RETURN(more, Step());
  }
  return connection_->total_changes() == before ? 0 : connection_->last_changes();
}

void Query::Reset() noexcept {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
  bind_error_ = SQLITE_OK;
}

bool Query::IsNull(int column) const noexcept {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

std::int64_t Query::Int(int column) const noexcept {
  return sqlite3_column_int64(statement_, column);
}

std::string_view Query::Text(int column) const noexcept {
  const auto* text = sqlite3_column_text(statement_, column);
  if (text == nullptr) return {};
  const auto bytes = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  return {reinterpret_cast<const char*>(text), bytes};
}

}  // namespace outbox::store::sqlite
