#include "bench/scratch.h"

#include <unistd.h>

#include <chrono>

#include "base/text.h"
#include "bench/pg_session.h"
#include "bench_sql/postgres.h"
#include "bench_sql/sqlite.h"
#include "message/table_name.h"
#include "store/backend.h"

namespace outbox::bench {
namespace {

using base::StrCat;
using message::TableName;

constexpr std::chrono::minutes kSetupTimeout{5};

class PostgresScratch final : public Scratch {
 public:
  PostgresScratch(std::string server, std::string database)
      : Scratch(WithDatabase(server, database)),
        server_(std::move(server)),
        database_(std::move(database)) {}

  ~PostgresScratch() override {
    auto session = PgSession::Open(server_);
    if (session.ok()) (void)session->Execute(StrCat("DROP DATABASE ", database_, " WITH (FORCE)"));
  }

  std::string_view store() const noexcept override { return "PostgreSQL"; }

  Status Create() {
    OUTBOX_ASSIGN_OR_RETURN(PgSession server, PgSession::Open(server_));
    OUTBOX_RETURN_IF_ERROR(server.Execute(StrCat("CREATE DATABASE ", database_)));
    OUTBOX_RETURN_IF_ERROR(Migrate(table()));
    OUTBOX_ASSIGN_OR_RETURN(PgSession session, PgSession::Open(address()));
    return session.Execute(sql::postgres::kCreateOrders);
  }

  Status Fill(std::size_t waiting) override {
    OUTBOX_ASSIGN_OR_RETURN(const TableName name, TableName::Parse(table(), "public"));
    OUTBOX_ASSIGN_OR_RETURN(PgSession session, PgSession::Open(address()));
    OUTBOX_RETURN_IF_ERROR(session.Execute(name.Render(sql::postgres::kTruncate)));
    if (waiting > 0) {
      const std::string count = std::to_string(waiting);
      OUTBOX_RETURN_IF_ERROR(
          session.Query(name.Render(sql::postgres::kFill), std::span(&count, 1)).error());
    }
    OUTBOX_RETURN_IF_ERROR(session.Execute(name.Render(sql::postgres::kVacuum)));
    return session.Execute("CHECKPOINT");
  }

 private:
  const std::string server_;
  const std::string database_;
};

class SqliteScratch final : public Scratch {
 public:
  explicit SqliteScratch(const std::string& folder)
      : Scratch(StrCat("sqlite:", folder, "/bench.db")) {}

  std::string_view store() const noexcept override { return "SQLite"; }

  Status Create() {
    OUTBOX_RETURN_IF_ERROR(Migrate(table()));
    return Run({std::string(sql::sqlite::kCreateOrders)});
  }

  Status Fill(std::size_t waiting) override {
    OUTBOX_ASSIGN_OR_RETURN(const TableName name, TableName::Parse(table(), "main"));
    std::string fill = name.Render(sql::sqlite::kFill);
    for (std::size_t at; (at = fill.find("{{count}}")) != std::string::npos;) {
      fill.replace(at, std::string_view("{{count}}").size(), std::to_string(waiting));
    }
    std::vector<std::string> statements{"BEGIN", name.Render(sql::sqlite::kTruncate)};
    if (waiting > 0) statements.push_back(std::move(fill));
    statements.insert(statements.end(), {"COMMIT", "ANALYZE", "PRAGMA wal_checkpoint(TRUNCATE)"});
    return Run(statements);
  }

 private:
  Status Run(const std::vector<std::string>& statements) {
    const Deadline deadline = Deadline::After(kSetupTimeout);
    OUTBOX_ASSIGN_OR_RETURN(const auto backend, store::OpenBackend(address()));
    OUTBOX_ASSIGN_OR_RETURN(const auto session, backend->OpenSession(deadline));
    for (const std::string& sql : statements) OUTBOX_RETURN_IF_ERROR(session->Execute(sql));
    return Status::Ok();
  }
};

}  // namespace

Scratch::Scratch(std::string address) : address_(std::move(address)), table_("bench_outbox") {}

Status Scratch::Migrate(const std::string& table, bool notify) const {
  const Deadline deadline = Deadline::After(kSetupTimeout);
  OUTBOX_ASSIGN_OR_RETURN(const auto backend, store::OpenBackend(address_));
  OUTBOX_ASSIGN_OR_RETURN(const auto migrator, backend->OpenMigrator(deadline));
  store::MigrateOptions options{.table = table};
  if (backend->dialect() == Dialect::kPostgres) options.notify = notify;
  return migrator->Up(options, deadline).error();
}

Result<std::unique_ptr<Scratch>> MakePostgresScratch(const std::string& address) {
  auto scratch = std::make_unique<PostgresScratch>(address, StrCat("outboxd_bench_", getpid()));
  OUTBOX_RETURN_IF_ERROR(scratch->Create());
  return std::unique_ptr<Scratch>(std::move(scratch));
}

Result<std::unique_ptr<Scratch>> MakeSqliteScratch(const std::string& folder) {
  auto scratch = std::make_unique<SqliteScratch>(folder);
  OUTBOX_RETURN_IF_ERROR(scratch->Create());
  return std::unique_ptr<Scratch>(std::move(scratch));
}

std::string WithDatabase(const std::string& address, const std::string& database) {
  const std::size_t scheme = address.find("://");
  // In a DSN the last value of a keyword counts.
  if (scheme == std::string::npos) return StrCat(address, " dbname=", database);
  const std::size_t query = std::min(address.find('?'), address.size());
  const std::size_t path = std::min(address.find('/', scheme + 3), query);
  return StrCat(address.substr(0, path), "/", database, address.substr(query));
}

}  // namespace outbox::bench
