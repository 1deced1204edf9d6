#include "demo/stage.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/printable.h"
#include "base/random.h"
#include "base/text.h"
#include "sql/demo.h"

namespace outbox::demo {
namespace {

constexpr std::chrono::seconds kTimeout{30};

Result<std::string> MakeFolder() {
  const char* place = std::getenv("TMPDIR");
  std::string folder =
      base::StrCat(place != nullptr && *place != '\0' ? place : "/tmp", "/outbox-demo.XXXXXX");
  if (mkdtemp(folder.data()) == nullptr) {
    return Status::Permanent(Code::kPermission, base::StrCat("demo: can not create ", folder, ": ",
                                                             std::strerror(errno)))
        .WithHint("set TMPDIR to a folder that can be written to");
  }
  return folder;
}

// Two demos on one database do not meet.
std::string UniquePrefix() {
  char text[16];
  std::snprintf(text, sizeof text, "demo_%08x_", static_cast<unsigned>(base::RandomBits()));
  return text;
}

}  // namespace

Stage::Stage(std::string database, std::string folder, std::unique_ptr<store::Backend> backend,
             message::TableName orders_table, std::string outbox_table)
    : database_(std::move(database)),
      folder_(std::move(folder)),
      backend_(std::move(backend)),
      orders_table_(std::move(orders_table)),
      outbox_table_(std::move(outbox_table)) {}

Result<std::unique_ptr<Stage>> Stage::Build(const std::string& database) {
  std::string address = database;
  std::string folder;
  if (address.empty()) {
    OUTBOX_ASSIGN_OR_RETURN(folder, MakeFolder());
    address = base::StrCat("sqlite:", folder, "/shop.db");
  }
  OUTBOX_ASSIGN_OR_RETURN(auto backend, store::OpenBackend(address));
  const std::string prefix = folder.empty() ? UniquePrefix() : "";
  const bool postgres = backend->dialect() == Dialect::kPostgres;
  OUTBOX_ASSIGN_OR_RETURN(
      auto orders, message::TableName::Parse(prefix + "orders", postgres ? "public" : "main"));
  std::unique_ptr<Stage> stage(
      new Stage(address, folder, std::move(backend), std::move(orders), prefix + "orders_outbox"));
  OUTBOX_RETURN_IF_ERROR(stage->CreateTables());
  return stage;
}

Stage::~Stage() {
  if (keep_) return;
  if (!folder_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
    return;
  }
  if (const Status dropped = DropTables(); !dropped.ok()) {
    std::fprintf(stderr, "outboxd: demo: its tables are left in %s: %s\n",
                 base::Harmless(description()).c_str(), base::Harmless(dropped.ToString()).c_str());
  }
}

std::string Stage::description() const {
  return base::StrCat(backend_->dialect() == Dialect::kPostgres ? "PostgreSQL " : "SQLite ",
                      backend_->description());
}

Status Stage::CreateTables() {
  OUTBOX_ASSIGN_OR_RETURN(const auto migrator, backend_->OpenMigrator(Deadline::After(kTimeout)));
  OUTBOX_ASSIGN_OR_RETURN(const auto applied,
                          migrator->Up({.table = outbox_table_}, Deadline::After(kTimeout)));
  (void)applied;
  OUTBOX_ASSIGN_OR_RETURN(const auto session, OpenSession());
  OUTBOX_RETURN_IF_ERROR(session->Execute(orders_table_.Render(sql::demo::kCreateOrders)));
  orders_created_ = true;
  return Status::Ok();
}

Status Stage::DropTables() {
  if (orders_created_) {
    OUTBOX_ASSIGN_OR_RETURN(const auto session, OpenSession());
    OUTBOX_RETURN_IF_ERROR(session->Execute(orders_table_.Render(sql::demo::kDropOrders)));
  }
  OUTBOX_ASSIGN_OR_RETURN(const auto migrator, backend_->OpenMigrator(Deadline::After(kTimeout)));
  return migrator
      ->Down({.table = outbox_table_, .discard_undelivered = true}, Deadline::After(kTimeout))
      .error();
}

Result<std::unique_ptr<store::Session>> Stage::OpenSession() {
  return backend_->OpenSession(Deadline::After(kTimeout));
}

Result<std::vector<Uuid>> Stage::ListOrderEvents() {
  OUTBOX_ASSIGN_OR_RETURN(const auto session, OpenSession());
  OUTBOX_RETURN_IF_ERROR(session->Begin());
  OUTBOX_ASSIGN_OR_RETURN(
      const auto rows,
      session->executor().Execute(orders_table_.Render(sql::demo::kListOrderEvents), {}));
  OUTBOX_RETURN_IF_ERROR(session->Commit());
  std::vector<Uuid> events;
  events.reserve(rows.size());
  for (const auto& row : rows) events.push_back(Uuid::Parse(row[0].value_or("")).value_or(Uuid()));
  return events;
}

}  // namespace outbox::demo
