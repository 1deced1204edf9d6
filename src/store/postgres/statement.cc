#include "store/postgres/statement.h"

#include "store/postgres/fnv.h"

namespace outbox::store::postgres {
namespace {

// The explanation at the head of a query file is for its readers, not for the server.
std::string WithoutLeadingComment(std::string_view sql) {
  while (sql.starts_with("--")) {
    const std::size_t end = sql.find('\n');
    sql.remove_prefix(end == std::string_view::npos ? sql.size() : end + 1);
  }
  return std::string(sql);
}

}  // namespace

Statement::Statement(const message::TableName& table, std::string_view sql,
                     std::string_view failpoint_name)
    : text(WithoutLeadingComment(table.Render(sql))),
      name("outbox_" + FnvHex(text)),
      failpoint(failpoint_name) {}

Statement::Statement(std::string_view sql)
    : text(WithoutLeadingComment(sql)), name("outbox_" + FnvHex(text)) {}

}  // namespace outbox::store::postgres
