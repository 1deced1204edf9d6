#include "store/backend.h"

#include "message/table_name.h"

namespace outbox::store {

std::string Backend::DisplayName(const std::string& table) const {
  const bool postgres = dialect() == Dialect::kPostgres;
  const auto name = message::TableName::Parse(table, postgres ? "public" : "main");
  if (!name.ok()) return table;
  return postgres ? name->Display() : name->name();
}

}  // namespace outbox::store
