#include "store/postgres/statement.h"

#include "store/postgres/fnv.h"

namespace outbox::store::postgres {
namespace {

// The explanation at the head of a query file is for its readers, not for the server.
std::string_view WithoutLeadingComment(std::string_view sql) {
  while (sql.starts_with("--")) {
    const std::size_t end = sql.find('\n');
    sql.remove_prefix(end == std::string_view::npos ? sql.size() : end + 1);
  }
  return sql;
}

}  // namespace

Statement::Statement(const message::TableName& table, std::string_view sql)
    : Statement(table.Render(sql)) {}

Statement::Statement(std::string_view sql)
    : text(WithoutLeadingComment(sql)), name("outbox_" + FnvHex(text)) {}

}  // namespace outbox::store::postgres
