#include "tests/e2e/support/scratch_database.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/text.h"
#include "tests/e2e/support/sql.h"
#include "tests/support/postgres.h"

namespace outbox::testing {
namespace {

using base::StrCat;

std::string MakeFolder() {
  std::string pattern = "/tmp/outbox-e2e.XXXXXX";
  return mkdtemp(pattern.data()) == nullptr ? "" : pattern;
}

// "postgres://user@host:port/postgres" with another database at its end.
std::string WithDatabase(const std::string& server, const std::string& database) {
  return server.substr(0, server.rfind('/') + 1) + database;
}

}  // namespace

std::unique_ptr<ScratchDatabase> ScratchDatabase::Make(Dialect dialect) {
  if (dialect == Dialect::kPostgres) return MakeAt(SharedPostgresUrl());
  std::unique_ptr<ScratchDatabase> scratch(new ScratchDatabase);
  scratch->folder_ = MakeFolder();
  scratch->url_ = StrCat("sqlite:", scratch->folder_, "/shop.db");
  return scratch;
}

std::unique_ptr<ScratchDatabase> ScratchDatabase::MakeAt(const std::string& server) {
  std::string name = StrCat("e2e_", Uuid::NewV7().ToString().substr(9));
  std::replace(name.begin(), name.end(), '-', '_');
  const auto connection = SqlConnection::Open(server);
  if (connection == nullptr || !connection->Execute(StrCat("CREATE DATABASE ", name))) {
    std::fprintf(stderr, "no database at %s\n", server.c_str());
    return nullptr;
  }
  std::unique_ptr<ScratchDatabase> scratch(new ScratchDatabase);
  scratch->folder_ = MakeFolder();
  scratch->server_ = server;
  scratch->database_ = name;
  scratch->url_ = WithDatabase(server, name);
  return scratch;
}

ScratchDatabase::~ScratchDatabase() {
  if (!database_.empty()) {
    if (const auto server = SqlConnection::Open(server_)) {
      server->Execute(StrCat("DROP DATABASE ", database_, " WITH (FORCE)"));
    }
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace outbox::testing
