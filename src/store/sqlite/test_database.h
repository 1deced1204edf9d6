// A database file with one outbox table, and shorthands, for the tests of this folder.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <memory>
#include <string>
#include <vector>

#include "outbox/enqueue.h"
#include "store/sqlite/backend.h"
#include "store/sqlite/connection.h"
#include "tests/support/matchers.h"
#include "tests/support/temp_folder.h"

namespace outbox::store::sqlite {

inline Deadline Soon() { return Deadline::After(std::chrono::seconds(30)); }

class TestDatabase {
 public:
  static constexpr const char* kTable = "orders_outbox";

  TestDatabase() : backend_(std::move(OpenSqlite(path())).value()) {
    EXPECT_OK(migrator()->Up({.table = kTable}, Soon()));
  }

  std::string path() const { return folder_.File("test.db"); }
  const testing::TempFolder& folder() const { return folder_; }
  Backend& backend() { return *backend_; }
  std::unique_ptr<Migrator> migrator() { return std::move(backend_->OpenMigrator(Soon())).value(); }

  Result<std::unique_ptr<RelayStore>> TryOpenRelay(RelayStoreOptions options = {}) {
    options.table = kTable;
    if (options.relay_id.empty()) options.relay_id = "relay";
    return backend_->OpenRelay(options, Soon());
  }
  std::unique_ptr<RelayStore> OpenRelay(RelayStoreOptions options = {}) {
    auto relay = TryOpenRelay(std::move(options));
    EXPECT_OK(relay);
    return std::move(relay).value();
  }

  std::unique_ptr<Connection> Connect() {
    auto connection = Connection::Open(path(), OpenMode::kExisting, Soon());
    EXPECT_OK(connection);
    return std::move(connection).value();
  }

  Status Enqueue(int count, std::size_t payload_bytes = 2) {
    OUTBOX_ASSIGN_OR_RETURN(auto session, backend_->OpenSession(Soon()));
    const NewMessage message{.topic = "orders.order.created.v1",
                             .payload = '"' + std::string(payload_bytes - 2, 'x') + '"'};
    const std::vector<NewMessage> messages(static_cast<std::size_t>(count), message);
    OUTBOX_RETURN_IF_ERROR(session->Begin());
    const Status added = EnqueueMany(session->executor(), kTable, messages).error();
    if (!added.ok()) {
      session->Rollback();
      return added;
    }
    return session->Commit();
  }

  // The first column of the first row; -1 when there is none.
  std::int64_t Number(const std::string& sql) {
    const auto connection = Connect();
    auto query = connection->Prepare(sql);
    EXPECT_OK(query);
    const auto found = query->Step();
    EXPECT_OK(found);
    return *found ? query->Int(0) : -1;
  }
  std::int64_t Count(const std::string& status) {
    return Number("SELECT count(*) FROM orders_outbox WHERE status = '" + status + "'");
  }

  // "ok", or what is wrong with the file.
  std::string Integrity() {
    const auto connection = Connect();
    auto query = connection->Prepare("PRAGMA integrity_check");
    EXPECT_OK(query);
    EXPECT_OK(query->Step());
    return std::string(query->Text(0));
  }

 private:
  testing::TempFolder folder_;
  std::unique_ptr<Backend> backend_;
};

inline std::unique_ptr<Claim> Next(RelayStore& relay, std::size_t limit = 100) {
  auto claim = relay.Next({.limit = limit, .lease = std::chrono::minutes(1)}, Soon());
  EXPECT_OK(claim);
  return std::move(claim).value();
}

inline std::vector<Outcome> AllDelivered(const Claim& claim) {
  std::vector<Outcome> outcomes(claim.messages().size());
  for (std::uint32_t i = 0; i < outcomes.size(); ++i) {
    outcomes[i] = {.index = i, .kind = Outcome::Kind::kDelivered};
  }
  return outcomes;
}

}  // namespace outbox::store::sqlite
