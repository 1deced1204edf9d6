// Several processes on one file, processes that are killed, and what a claim costs the others.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <thread>

#include "store/sqlite/leader_lock.h"
#include "store/sqlite/test_database.h"
#include "tests/support/wait.h"

namespace outbox::store::sqlite {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Claims and settles until the table is empty, writing each seq to `log`. Runs in a child process.
int DrainInto(const std::string& database, const std::string& log, const std::string& relay_id) {
  const auto backend = std::move(OpenSqlite(database)).value();
  const auto relay =
      std::move(backend->OpenRelay({.table = TestDatabase::kTable, .relay_id = relay_id}, Soon()))
          .value();
  std::ofstream out(log);
  while (true) {
    auto claim = relay->Next({.limit = 100, .lease = 1min}, Soon());
    if (!claim.ok()) return 1;
    if ((*claim)->messages().empty()) return 0;
    for (const Message& message : (*claim)->messages()) out << message.seq << '\n';
    const auto report = (*claim)->Settle(AllDelivered(**claim), Soon());
    if (!report.ok() || !report->lost.empty()) return 2;
  }
}

TEST(TwoProcesses, ClaimEveryMessageExactlyOnce) {
  constexpr int kMessages = 5000;
  TestDatabase database;
  ASSERT_OK(database.Enqueue(kMessages));
  std::vector<pid_t> children;
  for (int i = 0; i < 2; ++i) {
    const std::string name = "relay-" + std::to_string(i);
    children.push_back(fork());
    if (children.back() == 0) _exit(DrainInto(database.path(), database.folder().File(name), name));
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  std::map<std::int64_t, int> seen;
  for (int i = 0; i < 2; ++i) {
    std::ifstream log(database.folder().File("relay-" + std::to_string(i)));
    for (std::int64_t seq = 0; log >> seq;) ++seen[seq];
  }
  EXPECT_THAT(seen, SizeIs(kMessages));
  for (const auto& [seq, count] : seen) EXPECT_EQ(count, 1) << "seq " << seq;
  EXPECT_EQ(database.Count("delivered"), kMessages);
}

TEST(AKilledProcess, LeavesTheFileSoundAndLosesNothing) {
  constexpr int kMessages = 4000;
  constexpr int kKills = 8;
  TestDatabase database;
  ASSERT_OK(database.Enqueue(kMessages));
  for (int i = 0; i < kKills; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(DrainInto(database.path(), "/dev/null", "victim"));
    std::this_thread::sleep_for(std::chrono::milliseconds(5 + 7 * i));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_EQ(database.Integrity(), "ok");
    EXPECT_EQ(database.Number("SELECT count(*) FROM orders_outbox"), kMessages);
  }
  std::printf("kills %d, delivered before %lld of %d, lost 0\n", kKills,
              static_cast<long long>(database.Count("delivered")), kMessages);
}

TEST(AKilledProcess, FreesATransactionClaimAtOnce) {
  TestDatabase database;
  ASSERT_OK(database.Enqueue(3));
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto relay = database.OpenRelay({.claim_mode = ClaimMode::kTransaction});
    const auto claim = Next(*relay);
    if (write(ready[1], "x", 1) != 1) _exit(1);
    pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  const auto relay = database.OpenRelay();
  EXPECT_THAT(relay->Next({.limit = 10, .lease = 1min}, Deadline::After(2s)),
              HasCode(Code::kUnavailable))
      << "the claim holds the write lock";
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const auto claim = Next(*relay);
  ASSERT_THAT(claim->messages(), SizeIs(3));
  EXPECT_EQ(claim->messages()[0].attempt, 1);
}

TEST(AKilledProcess, FreesTheLeaderLock) {
  TestDatabase database;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    LeaderLock lock(database.path(), TestDatabase::kTable);
    if (!*lock.TryAcquire(1h) || write(ready[1], "x", 1) != 1) _exit(1);
    pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  LeaderLock lock(database.path(), TestDatabase::kTable);
  EXPECT_FALSE(*lock.TryAcquire(1h));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(*lock.TryAcquire(1h));
}

TEST(LeaderLock, IsNotKeptOnAFileThatWasReplaced) {
  testing::TempFolder folder;
  LeaderLock first(folder.File("db"), "t");
  LeaderLock second(folder.File("db"), "t");
  ASSERT_TRUE(*first.TryAcquire(1h));
  ASSERT_TRUE(std::filesystem::remove(folder.File("db-t.leader")));
  EXPECT_TRUE(*second.TryAcquire(1h));
  EXPECT_FALSE(*first.TryAcquire(1h));
}

TEST(LeaderLock, IsTakenOverFromALeaderWhoseTimeIsOver) {
  testing::TempFolder folder;
  const std::string path = folder.File("db-t.leader");
  LeaderLock frozen(folder.File("db"), "t");
  LeaderLock second(folder.File("db"), "t");
  LeaderLock third(folder.File("db"), "t");
  ASSERT_TRUE(*frozen.TryAcquire(1h));
  EXPECT_FALSE(*second.TryAcquire(1h));
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - 1ms);
  EXPECT_TRUE(*second.TryAcquire(1h));
  EXPECT_FALSE(*third.TryAcquire(1h)) << "the new leader's time has just begun";
  EXPECT_FALSE(*frozen.TryAcquire(1h)) << "it has woken up";
  frozen.Release();
  EXPECT_TRUE(*second.TryAcquire(1h));
}

TEST(LeaderLock, RenewsItsTimeAtAThird) {
  testing::TempFolder folder;
  const std::string path = folder.File("db-t.leader");
  LeaderLock lock(folder.File("db"), "t");
  const auto first = lock.TryAcquire(1h);
  ASSERT_OK(first);
  EXPECT_EQ(*lock.TryAcquire(1h), *first) << "no need yet";
  LeaderLock hasty(folder.File("db"), "u");
  const auto begun = hasty.TryAcquire(3ms);
  ASSERT_TRUE(testing::WaitFor([&] { return *hasty.TryAcquire(3ms) > *begun; }));
}

TEST(LeaderLock, TakesTheNameOfASinkWithASlash) {
  TestDatabase database;
  const auto east = database.OpenRelay({.destination = "eu/east"});
  const auto west = database.OpenRelay({.destination = "eu/west"});
  const auto other = database.OpenRelay({.destination = "eu/west"});
  EXPECT_TRUE(*east->TryLead(Soon()));
  EXPECT_TRUE(*west->TryLead(Soon()));
  EXPECT_FALSE(*other->TryLead(Soon()));
}

TEST(TransactionClaim, HoldsTheOnlyWriteLockAndSecondClaimsAreEmpty) {
  TestDatabase database;
  ASSERT_OK(database.Enqueue(2));
  const auto relay = database.OpenRelay({.claim_mode = ClaimMode::kTransaction});
  EXPECT_EQ(relay->traits().claims_max, 1U);
  const auto held = Next(*relay, 1);
  EXPECT_THAT(held->messages(), SizeIs(1));
  EXPECT_THAT(Next(*relay, 1)->messages(), IsEmpty());
  EXPECT_EQ(database.Count("processing"), 0) << "invisible until it is settled";
  ASSERT_OK(held->Settle(AllDelivered(*held), Soon()));
  EXPECT_EQ(database.Count("delivered"), 1);
  EXPECT_THAT(Next(*relay, 1)->messages(), SizeIs(1));
}

TEST(TransactionClaim, KeepsWhatWasSettledWhenTheRestIsAbandoned) {
  TestDatabase database;
  ASSERT_OK(database.Enqueue(3));
  const auto relay = database.OpenRelay({.claim_mode = ClaimMode::kTransaction});
  {
    const auto claim = Next(*relay);
    const std::vector<Outcome> one = {{.index = 1, .kind = Outcome::Kind::kDelivered}};
    ASSERT_OK(claim->Settle(one, Soon()));
  }
  EXPECT_EQ(database.Count("delivered"), 1);
  EXPECT_EQ(database.Count("pending"), 2);
  EXPECT_EQ(database.Number("SELECT sum(attempts) FROM orders_outbox WHERE status = 'pending'"), 0);
}

TEST(LeaseToken, DiffersBetweenStoresWithTheSameRelayId) {
  TestDatabase database;
  ASSERT_OK(database.Enqueue(2));
  const auto first = database.OpenRelay({.relay_id = "same"});
  const auto second = database.OpenRelay({.relay_id = "same"});
  const auto a = Next(*first, 1);
  const auto b = Next(*second, 1);
  EXPECT_EQ(database.Number("SELECT count(DISTINCT locked_by) FROM orders_outbox"), 2);
}

}  // namespace
}  // namespace outbox::store::sqlite
