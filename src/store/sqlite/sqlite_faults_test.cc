// What a full disk, a lock, a missing, foreign or read-only file do: a clear error, nothing lost.
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "store/sqlite/test_database.h"

namespace outbox::store::sqlite {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string Pragma(Connection& connection, const std::string& name) {
  auto query = connection.Prepare("PRAGMA " + name);
  EXPECT_OK(query);
  EXPECT_OK(query->Step());
  return std::string(query->Text(0));
}

TEST(Connection, IsInWalModeWithFullDurability) {
  TestDatabase database;
  const auto connection = database.Connect();
  EXPECT_EQ(Pragma(*connection, "journal_mode"), "wal");
  EXPECT_EQ(Pragma(*connection, "synchronous"), "2");
}

TEST(Connection, AMissingFileIsNotFoundAndNotCreated) {
  testing::TempFolder folder;
  const std::string path = folder.File("missing.db");
  const auto backend = std::move(OpenSqlite(path)).value();
  const auto relay = backend->OpenRelay({.table = "orders_outbox"}, Soon());
  EXPECT_THAT(relay, HasCode(Code::kNotFound));
  EXPECT_THAT(relay.error().message(), HasSubstr(path));
  EXPECT_THAT(relay.error().hint(), HasSubstr("migrate up"));
  EXPECT_THAT(backend->OpenSession(Soon()), HasCode(Code::kNotFound));
  EXPECT_THAT(backend->OpenInspect("orders_outbox", Soon()), HasCode(Code::kNotFound));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Connection, AForeignFileIsNotADatabase) {
  testing::TempFolder folder;
  std::ofstream(folder.File("notes.txt")) << std::string(4096, 'x');
  const auto backend = std::move(OpenSqlite(folder.File("notes.txt"))).value();
  EXPECT_THAT(backend->OpenRelay({.table = "orders_outbox"}, Soon()),
              HasCode(Code::kInvalidArgument));
}

TEST(Connection, AFolderCanNotBeOpened) {
  testing::TempFolder folder;
  const auto backend = std::move(OpenSqlite(folder.path())).value();
  EXPECT_THAT(backend->OpenRelay({.table = "orders_outbox"}, Soon()), HasCode(Code::kUnavailable));
}

TEST(Connection, InMemoryDatabasesAreRefused) {
  EXPECT_THAT(OpenSqlite(":memory:"), HasCode(Code::kInvalidArgument));
  EXPECT_THAT(OpenSqlite(""), HasCode(Code::kInvalidArgument));
}

TEST(Connection, AStatementStopsAtTheDeadline) {
  TestDatabase database;
  const auto connection = database.Connect();
  connection->set_deadline(Deadline::After(2s));
  auto query = connection->Prepare(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n");
  ASSERT_OK(query);
  EXPECT_THAT(query->Step(), HasCode(Code::kDeadline));
}

TEST(ReplacedFile, IsNoticedAndTheNewOneUsed) {
  TestDatabase database;
  TestDatabase restored;
  ASSERT_OK(restored.Enqueue(3));
  ASSERT_OK(restored.Connect()->Execute("PRAGMA wal_checkpoint(TRUNCATE)"));
  const auto relay = database.OpenRelay();
  EXPECT_THAT(Next(*relay)->messages(), IsEmpty());
  std::filesystem::remove(database.path() + "-wal");
  std::filesystem::remove(database.path() + "-shm");
  std::filesystem::rename(restored.path(), database.path());
  Status told;
  std::unique_ptr<Claim> claim;
  const Deadline end = Soon();
  while ((claim == nullptr || claim->messages().empty()) && !end.passed()) {
    auto next = relay->Next({.limit = 100, .lease = 1min}, Soon());
    if (next.ok()) {
      claim = std::move(next).value();
    } else {
      told = next.error();
    }
    std::this_thread::sleep_for(10ms);
  }
  ASSERT_NE(claim, nullptr);
  EXPECT_THAT(claim->messages(), SizeIs(3));
  EXPECT_EQ(told.code(), Code::kUnavailable);
  EXPECT_EQ(told.disposition(), Disposition::kRetry);
  EXPECT_THAT(told.message(), HasSubstr("was moved or deleted"));
  EXPECT_OK(claim->Settle(AllDelivered(*claim), Soon()));
  EXPECT_EQ(database.Count("delivered"), 3);
}

TEST(BusyWriter, IsWaitedForUpToTheDeadlineAndNoLonger) {
  TestDatabase database;
  ASSERT_OK(database.Enqueue(1));
  const auto relay = database.OpenRelay();
  const auto writer = database.Connect();
  ASSERT_OK(writer->Begin());
  const auto begin = std::chrono::steady_clock::now();
  const auto refused = relay->Next({.limit = 1, .lease = 1min}, Deadline::After(2s));
  const auto waited = std::chrono::steady_clock::now() - begin;
  EXPECT_THAT(refused, HasCode(Code::kUnavailable));
  EXPECT_EQ(refused.error().disposition(), Disposition::kRetry);
  EXPECT_GE(waited, 1990ms);
  EXPECT_LT(waited, 25s);
  writer->Rollback();
  EXPECT_THAT(Next(*relay)->messages(), SizeIs(1));
}

TEST(BusyWriter, AWaitingClaimSucceedsWhenTheWriterIsDone) {
  TestDatabase database;
  ASSERT_OK(database.Enqueue(1));
  const auto relay = database.OpenRelay();
  const auto writer = database.Connect();
  ASSERT_OK(writer->Begin());
  std::thread release([&] {
    std::this_thread::sleep_for(100ms);
    writer->Rollback();
  });
  EXPECT_THAT(Next(*relay)->messages(), SizeIs(1));
  release.join();
}

TEST(BusyWriter, AnIdleRelayNeedsNoWriteLock) {
  TestDatabase database;
  const auto relay = database.OpenRelay();
  EXPECT_THAT(Next(*relay)->messages(), IsEmpty());
  const auto writer = database.Connect();
  ASSERT_OK(writer->Begin());
  EXPECT_OK(relay->Next({.limit = 1, .lease = 1min}, Soon()));
}

TEST(FullDisk, RefusesNewRowsClearlyAndKeepsTheOldOnes) {
  TestDatabase database;
  ASSERT_OK(database.Enqueue(10));
  {
    auto session = std::move(database.backend().OpenSession(Soon())).value();
    ASSERT_OK(session->Execute("PRAGMA max_page_count = 40"));
    const NewMessage large{.topic = "orders.order.created.v1",
                           .payload = '"' + std::string(500'000, 'x') + '"'};
    ASSERT_OK(session->Begin());
    const auto refused = Enqueue(session->executor(), TestDatabase::kTable, large);
    EXPECT_THAT(refused, HasCode(Code::kUnavailable));
    EXPECT_THAT(refused.error().message(), HasSubstr("full"));
    session->Rollback();
  }
  EXPECT_EQ(database.Count("pending"), 10);
  EXPECT_EQ(database.Integrity(), "ok");
  const auto relay = database.OpenRelay();
  const auto claim = Next(*relay);
  EXPECT_THAT(claim->messages(), SizeIs(10));
  EXPECT_OK(claim->Settle(AllDelivered(*claim), Soon()));
}

// Makes every write that would let a file grow beyond `bytes` fail, for as long as it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    signal(SIGXFSZ, SIG_IGN);
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit limit{bytes, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~FileSizeLimit() {
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &before_), 0);
    signal(SIGXFSZ, SIG_DFL);
  }

 private:
  rlimit before_{};
};

TEST(FullDisk, ASettleThatCouldNotBeWrittenIsRepeatedWithoutLoss) {
  TestDatabase database;
  ASSERT_OK(database.Enqueue(200));
  const auto relay = database.OpenRelay();
  const auto claim = Next(*relay, 200);
  ASSERT_THAT(claim->messages(), SizeIs(200));
  const auto outcomes = AllDelivered(*claim);
  {
    const FileSizeLimit limit(4096);
    const auto failed = claim->Settle(outcomes, Soon());
    EXPECT_THAT(failed, HasCode(Code::kUnavailable));
    EXPECT_NE(failed.error().disposition(), Disposition::kPermanent);
    EXPECT_NE(failed.error().hint(), "");
  }
  EXPECT_EQ(database.Count("processing"), 200) << "nothing was half recorded";
  const auto report = claim->Settle(outcomes, Soon());
  ASSERT_OK(report);
  EXPECT_THAT(report->lost, IsEmpty());
  EXPECT_EQ(database.Count("delivered"), 200);
  EXPECT_EQ(database.Integrity(), "ok");
}

// Runs `body` in a child that is neither root nor the owner of the files; true when it passed.
template <typename Body>
bool AsNobody(Body&& body) {
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(2);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(ReadOnlyDatabase, ARelayIsRefusedWithTheRemedy) {
  TestDatabase database;
  ASSERT_OK(database.Enqueue(1));
  ASSERT_EQ(chmod(database.path().c_str(), 0444), 0);
  ASSERT_EQ(chmod(database.folder().path().c_str(), 0555), 0);
  EXPECT_TRUE(AsNobody([&] {
    const auto relay = database.TryOpenRelay();
    return relay.error().code() == Code::kPermission && !relay.error().hint().empty();
  }));
  ASSERT_EQ(chmod(database.folder().path().c_str(), 0755), 0);
  EXPECT_EQ(database.Count("pending"), 1);
}

TEST(ReadOnlyDatabase, CanBeInspectedWhileItsWriterRuns) {
  TestDatabase database;
  ASSERT_OK(database.Enqueue(1));
  const auto writer = database.Connect();
  for (const char* suffix : {"", "-wal", "-shm"}) {
    ASSERT_EQ(chmod((database.path() + suffix).c_str(), 0444), 0);
  }
  ASSERT_EQ(chmod(database.folder().path().c_str(), 0555), 0);
  EXPECT_TRUE(AsNobody([&] {
    const auto inspect = database.backend().OpenInspect(TestDatabase::kTable, Soon());
    if (!inspect.ok()) return false;
    const auto page = (*inspect)->List(Scope::All(), {}, Soon());
    return page.ok() && page->rows.size() == 1;
  }));
  ASSERT_EQ(chmod(database.folder().path().c_str(), 0755), 0);
}

}  // namespace
}  // namespace outbox::store::sqlite
