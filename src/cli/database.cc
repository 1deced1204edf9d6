#include "cli/database.h"

#include "base/text.h"

namespace outbox::cli {

Deadline CommandDeadline() { return Deadline::After(std::chrono::seconds(60)); }

Result<std::unique_ptr<store::Backend>> OpenDatabase(const std::string& address) {
  if (address.empty()) {
    return Status::Invalid("no database is given")
        .WithHint("set OUTBOX_DB or give --db: postgres://user@host/database or sqlite:PATH");
  }
  return store::OpenBackend(address);
}

Result<std::vector<std::string>> TablesToLookAt(store::Backend& backend, const std::string& table) {
  if (!table.empty()) return std::vector<std::string>{table};
  OUTBOX_ASSIGN_OR_RETURN(const auto migrator, backend.OpenMigrator(CommandDeadline()));
  OUTBOX_ASSIGN_OR_RETURN(auto tables, migrator->Tables(CommandDeadline()));
  if (tables.empty()) {
    return Status::Permanent(Code::kNotFound,
                             base::StrCat("no outbox table in ", backend.description()))
        .WithHint("create one: outboxd migrate up --table NAME");
  }
  return tables;
}

Result<std::unique_ptr<store::InspectStore>> OpenIfThere(store::Backend& backend,
                                                         const std::string& table,
                                                         const std::string& asked_for) {
  auto opened = backend.OpenInspect(table, CommandDeadline());
  if (asked_for.empty() && opened.error().code() == Code::kNotFound) {
    return std::unique_ptr<store::InspectStore>();
  }
  return opened;
}

Result<std::string> TableToLookAt(store::Backend& backend, const std::string& table) {
  OUTBOX_ASSIGN_OR_RETURN(const auto tables, TablesToLookAt(backend, table));
  if (tables.size() == 1) return tables.front();
  return Status::Invalid(base::StrCat("there are ", tables.size(), " outbox tables"))
      .WithHint(base::StrCat("name one with --table: ", base::Join(tables, ", ")));
}

}  // namespace outbox::cli
