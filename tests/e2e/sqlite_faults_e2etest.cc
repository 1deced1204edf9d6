// SQLite's own troubles: a full disk and a database that may only be read. Clear words, no losses.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "tests/e2e/support/producer.h"
#include "tests/e2e/support/stage.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using base::StrCat;
namespace fs = std::filesystem;

// A file system of a few megabytes; needs the right to mount.
class SmallDisk {
 public:
  SmallDisk() {
    std::string pattern = "/tmp/outbox-disk.XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) return;
    path_ = pattern;
    mounted_ = mount("tmpfs", path_.c_str(), "tmpfs", 0, "size=3m") == 0;
  }
  ~SmallDisk() {
    if (mounted_) umount2(path_.c_str(), MNT_DETACH);
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool mounted() const { return mounted_; }
  const std::string& path() const { return path_; }

  // Leaves no room at all; Empty gives it back.
  void Fill() const {
    std::ofstream filler(path_ + "/filler", std::ios::binary);
    const std::string block(4096, 'x');
    while (filler.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }
  void Empty() const { fs::remove(path_ + "/filler"); }

 private:
  std::string path_;
  bool mounted_ = false;
};

Flags Joined(Flags first, const Flags& rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

Finished Outboxd(const std::string& url, const Flags& command) {
  return Process::Run(Joined({OUTBOXD_PATH}, command), {.environment = {{"OUTBOX_DB", url}}});
}

Flags EnqueueOne() {
  return {"enqueue",   "--table",   std::string(kTable), "--topic", "orders.order.created.v1",
          "--payload", R"({"n":1})"};
}

TEST(SqliteFaults, AFullDiskIsNamedAndLosesNothing) {
  const SmallDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "may not mount a small file system here";
  const std::string url = StrCat("sqlite:", disk.path(), "/shop.db");
  const std::string output = StrCat(disk.path(), ".jsonl");
  ASSERT_EQ(Outboxd(url, {"migrate", "up", "--table", std::string(kTable)}).exit_code, 0);
  {
    const auto sql = SqlConnection::Open(url);
    ASSERT_TRUE(sql->Execute("CREATE TABLE expected (id text PRIMARY KEY)"));
    ASSERT_TRUE(Produce(*sql, {}, 20));
  }
  const auto relay = Process::Start(
      {OUTBOXD_PATH, "relay", "--table", std::string(kTable), "--sink", "file:" + output},
      {.environment = {{"OUTBOX_DB", url}}});
  const auto sql = SqlConnection::Open(url);
  const auto unfinished = [&] {
    return sql->Number(StrCat("SELECT count(*) FROM ", kTable, " WHERE status <> 'delivered'"));
  };
  ASSERT_TRUE(WaitFor([&] { return unfinished() == 0; })) << relay->Errors();

  // The write-ahead log keeps the space it has: enqueue until there is none.
  disk.Fill();
  std::string refusal;
  ASSERT_TRUE(WaitFor([&] {
    const Finished enqueued = Outboxd(url, EnqueueOne());
    if (enqueued.exit_code == 0) return false;
    EXPECT_EQ(enqueued.exit_code, 1);
    refusal = enqueued.standard_error;
    return true;
  }));
  EXPECT_NE(refusal.find("full"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("hint:"), std::string::npos) << refusal;
  EXPECT_TRUE(relay->Running()) << relay->Errors();

  disk.Empty();
  ASSERT_EQ(Outboxd(url, EnqueueOne()).exit_code, 0);
  EXPECT_TRUE(WaitFor([&] { return unfinished() == 0; })) << relay->Errors();
  relay->Signal(SIGTERM);
  EXPECT_EQ(relay->Wait(kPatience), 0) << relay->Errors();

  Ledger ledger;
  for (std::string& id : sql->Column(StrCat("SELECT id FROM ", kTable))) {
    ledger.Expect(std::move(id));
  }
  ledger.SeeFile(output);
  fs::remove(output);
  const Verdict verdict = ledger.Judge();
  PrintVerdict("full disk", verdict, 1, 500);
  EXPECT_EQ(verdict.lost + verdict.phantom, 0u);
  EXPECT_LE(verdict.duplicated, 500u) << "more than the batch whose ack found no room";
  EXPECT_EQ(sql->Column("PRAGMA integrity_check"), std::vector<std::string>{"ok"});
}

// A command line that runs `command` as nobody: the root user may write to everything.
Flags AsNobody(const Flags& command) {
  if (geteuid() != 0) return command;
  return Joined({"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"}, command);
}

TEST(SqliteFaults, AReadOnlyDatabaseIsNamedAndLeftAlone) {
  const auto stage = Stage::Make(Dialect::kSqlite);
  ASSERT_NE(stage, nullptr);
  ASSERT_TRUE(Produce(stage->sql(), {}, 2));
  ASSERT_TRUE(stage->sql().Execute("PRAGMA wal_checkpoint(TRUNCATE)"));
  const std::string path = stage->url().substr(std::string("sqlite:").size());
  // A copy of the program that nobody may execute, wherever the build folder is.
  const std::string program = stage->folder() + "/outboxd";
  fs::copy_file(OUTBOXD_PATH, program);
  chmod(stage->folder().c_str(), 0555);
  chmod(path.c_str(), 0444);
  for (const char* suffix : {"-wal", "-shm"}) chmod((path + suffix).c_str(), 0444);

  const std::string table(kTable);
  const Flags relay{program, "relay",   "--table",   table, "--sink",
                    "null:", "--drain", "--timeout", "30s"};
  const Flags enqueue = Joined({program}, EnqueueOne());
  const ProcessOptions options{.environment = {{"OUTBOX_DB", stage->url()}}};
  for (const Flags& command : {relay, enqueue}) {
    const Finished run = Process::Run(AsNobody(command), options);
    EXPECT_EQ(run.exit_code, 1) << command[1] << ": " << run.standard_error;
    EXPECT_NE(run.standard_error.find("read-only"), std::string::npos) << run.standard_error;
  }
  chmod(stage->folder().c_str(), 0755);
  chmod(path.c_str(), 0644);
  EXPECT_EQ(SqlConnection::Open(stage->url())
                ->Number(StrCat("SELECT count(*) FROM ", kTable, " WHERE status = 'pending'")),
            20);
}

}  // namespace
}  // namespace outbox::testing
