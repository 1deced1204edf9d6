#include <sqlite3.h>

#include <cstdlib>
#include <filesystem>

#include "base/handle.h"
#include "enqueue/enqueue_suite.h"
#include "store/backend.h"

namespace outbox::testing {
namespace {

using std::chrono::seconds;

class SqliteConnection final : public Connection {
 public:
  explicit SqliteConnection(const std::string& path) {
    sqlite3* opened = nullptr;
    sqlite3_open(path.c_str(), &opened);
    database_.reset(opened);
    sqlite3_busy_timeout(opened, 30'000);
  }

  bool Execute(const std::string& sql) override {
    return sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  }
  std::int64_t Number(const std::string& sql) override {
    std::int64_t number = -1;
    const auto read = [](void* out, int, char** values, char**) {
      *static_cast<std::int64_t*>(out) = std::atoll(values[0]);
      return 0;
    };
    sqlite3_exec(database_.get(), sql.c_str(), read, &number, nullptr);
    return number;
  }
  Result<Enqueued> Enqueue(std::string_view table, const NewMessage& message,
                           const EnqueueOptions& options) override {
    return outbox::Enqueue(database_.get(), table, message, options);
  }
  Result<std::vector<Enqueued>> EnqueueMany(std::string_view table,
                                            std::span<const NewMessage> messages,
                                            const EnqueueOptions& options) override {
    return outbox::EnqueueMany(database_.get(), table, messages, options);
  }

 private:
  base::UniqueHandle<sqlite3, sqlite3_close_v2> database_;
};

// A database file of its own.
class Sqlite {
 public:
  // A transaction that reads first and writes later can not wait for another writer.
  static constexpr const char* kBeginWriting = "BEGIN IMMEDIATE";
  static constexpr const char* kDisplayName = "orders_outbox";

  void SetUp() {
    std::string pattern = "/tmp/outbox-enqueue.XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    const auto backend = store::OpenBackend("sqlite:" + path());
    ASSERT_OK(backend);
    const auto migrator = (*backend)->OpenMigrator(Deadline::After(seconds(30)));
    ASSERT_OK(migrator);
    ASSERT_OK((*migrator)->Up({.table = std::string(kEnqueueTable)}, Deadline::After(seconds(30))));
    ASSERT_TRUE(Connect()->Execute("CREATE TABLE business (id integer)"));
  }
  ~Sqlite() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::unique_ptr<Connection> Connect() { return std::make_unique<SqliteConnection>(path()); }

 private:
  std::string path() const { return folder_ + "/shop.db"; }

  std::string folder_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(SQLite, EnqueueSuite, Sqlite);

class SqliteEnqueue : public EnqueueSuite<Sqlite> {};

TEST_F(SqliteEnqueue, SaysThatTheDiskIsFullAndWhetherTheTransactionIsOver) {
  ASSERT_TRUE(connection_->Execute("BEGIN IMMEDIATE"));
  ASSERT_TRUE(connection_->Execute("INSERT INTO business VALUES (1)"));
  const std::int64_t pages = connection_->Number("PRAGMA page_count");
  ASSERT_TRUE(connection_->Execute(base::StrCat("PRAGMA max_page_count = ", pages)));
  NewMessage large = AnEvent();
  large.payload = base::StrCat("\"", std::string(100'000, 'x'), "\"");
  const auto result = connection_->Enqueue(kEnqueueTable, large);
  ASSERT_THAT(result, HasCode(Code::kUnavailable));
  EXPECT_EQ(result.error().disposition(), Disposition::kRetry);
  EXPECT_THAT(result.error().hint(), ::testing::HasSubstr("free space"));
  const bool told = result.error().hint().find("rolled the whole") != std::string::npos;
  EXPECT_EQ(told, !connection_->Execute("ROLLBACK")) << result.error().hint();
}

TEST_F(SqliteEnqueue, RefusesMoreBytesAtOnceThanADatabaseTakes) {
  constexpr std::size_t kEach = std::size_t{1} << 20;
  std::vector<NewMessage> many(kEnqueueManyBytesMax / kEach + 1, AnEvent());
  for (NewMessage& message : many) message.payload = std::string(kEach, ' ').replace(0, 2, "{}");
  ASSERT_TRUE(connection_->Execute("BEGIN IMMEDIATE"));
  const auto result = connection_->EnqueueMany(kEnqueueTable, many);
  EXPECT_THAT(result, HasCode(Code::kInvalidArgument));
  EXPECT_THAT(result.error().hint(), ::testing::HasSubstr("several calls"));
  EXPECT_TRUE(connection_->Execute("COMMIT"));
  EXPECT_EQ(Rows(), 0);
}

TEST_F(SqliteEnqueue, SaysThatTheDatabaseIsReadOnly) {
  ASSERT_TRUE(connection_->Execute("PRAGMA query_only = on"));
  ASSERT_TRUE(connection_->Execute("BEGIN"));
  const auto result = connection_->Enqueue(kEnqueueTable, AnEvent());
  EXPECT_THAT(result, HasCode(Code::kPermission));
  EXPECT_FALSE(result.error().hint().empty());
}

}  // namespace
}  // namespace outbox::testing
