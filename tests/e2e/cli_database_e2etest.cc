// Which database a command acts on: the one that --db names, before or behind the command, whatever
// the environment says. And what a command that destroys asks first.
//
// The commands are read from the program's own help: one that is new has to be added here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/text.h"
#include "tests/e2e/support/commands.h"
#include "tests/e2e/support/scratch_database.h"
#include "tests/e2e/support/sql.h"
#include "tests/support/process.h"

namespace outbox::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

// Every command that takes --db: "stats", "migrate up", …
std::vector<Words> CommandsWithDatabase() {
  std::vector<Words> commands = AllCommands();
  std::erase_if(commands, [](const Words& command) {
    return HelpOf(command).find("\n  --db ") == std::string::npos;
  });
  EXPECT_GE(commands.size(), 18u) << "the help is read wrongly";
  return commands;
}

enum class Does { kLooks, kAdds, kDestroys };

struct Usage {
  Does does;
  Words arguments;
  int exit_code = 0;
  std::map<std::string, std::string> environment = {};
};

class CommandsAndDatabases : public ::testing::Test {
 protected:
  static constexpr const char* kElsewhere = "postgres://nowhere.invalid/shop";

  void SetUp() override {
    scratch_ = ScratchDatabase::Make(Dialect::kSqlite);
    ASSERT_NE(scratch_, nullptr);
    ASSERT_EQ(RunOutboxd({"migrate", "up", "--db", scratch_->url(), "--table", "orders_outbox"}, {})
                  .exit_code,
              0);
    const auto sql = SqlConnection::Open(scratch_->url());
    ASSERT_NE(sql, nullptr);
    ASSERT_TRUE(sql->Execute(
        "INSERT INTO orders_outbox (id, topic, payload, status, attempts, available_at) VALUES ('" +
        std::string(kDead) + "', 'a.b.c.v1', '{}', 'dead', 3, 9223372036854775807)"))
        << sql->error();
  }

  // A copy of the database for one command.
  std::string Fresh() {
    const std::string path = base::StrCat(scratch_->folder(), "/copy-", ++copies_, ".db");
    const std::string original = scratch_->url().substr(std::string("sqlite:").size());
    for (const char* part : {"", "-wal"}) {
      if (fs::exists(original + part)) fs::copy_file(original + part, path + part);
    }
    return "sqlite:" + path;
  }

  // Everything in it that a command could destroy.
  static std::string Contents(const std::string& url) {
    const auto sql = SqlConnection::Open(url);
    if (sql == nullptr) return "";
    std::string text;
    for (const char* query : {"SELECT name FROM sqlite_master ORDER BY name",
                              "SELECT id, status, attempts FROM orders_outbox ORDER BY seq"}) {
      for (const auto& row : sql->Query(query)) text += base::Join(row, "|") + "\n";
    }
    return text;
  }

  // Null, and a failure, for a command that nobody has described.
  const Usage* UsageOf(const Words& command) const {
    const auto found = usages_.find(base::Join(command, " "));
    if (found != usages_.end()) return &found->second;
    ADD_FAILURE() << "say here what '" << base::Join(command, " ") << "' does to its database";
    return nullptr;
  }

  static constexpr const char* kDead = "01890000-0000-7000-8000-000000000001";
  const Words table_{"--table", "orders_outbox"};
  const std::map<std::string, Usage> usages_{
      {"relay", {Does::kAdds, Words{"--sink", "null:", "--drain"} + table_}},
      {"enqueue", {Does::kAdds, Words{"--topic", "a.b.c.v1", "--payload", "{}"} + table_}},
      {"stats", {Does::kLooks, {}}},
      {"list", {Does::kLooks, {}}},
      {"show", {Does::kLooks, {kDead}}},
      {"relays", {Does::kLooks, {}}},
      {"retry", {Does::kDestroys, Words{"--all-dead"} + table_}},
      {"delete", {Does::kDestroys, Words{"--all-dead"} + table_}},
      {"pause", {Does::kAdds, table_}},
      {"resume", {Does::kAdds, table_}},
      {"migrate up", {Does::kAdds, table_}},
      {"migrate down", {Does::kDestroys, Words{"--discard-undelivered"} + table_}},
      {"migrate status", {Does::kLooks, {}}},
      {"migrate print", {Does::kLooks, table_}},
      {"config", {Does::kLooks, {}}},
      // Ends because its table is not there.
      {"serve",
       {Does::kAdds,
        {},
        1,
        {{"OUTBOX_RELAY_TABLES", "no_outbox"}, {"OUTBOX_RELAY_SINK", "null:"}}}},
      // These never look at OUTBOX_DB, and make tables of their own: see their tests.
      {"demo", {Does::kAdds, {}}},
      {"bench", {Does::kAdds, {}}},
  };

  std::unique_ptr<ScratchDatabase> scratch_;
  int copies_ = 0;
};

TEST_F(CommandsAndDatabases, AFlagBeatsTheEnvironmentBeforeAndBehindTheCommand) {
  for (const Words& command : CommandsWithDatabase()) {
    SCOPED_TRACE(base::Join(command, " "));
    const Usage* const usage = UsageOf(command);
    if (usage == nullptr || command[0] == "demo" || command[0] == "bench") continue;
    Words arguments = usage->arguments;
    if (usage->does == Does::kDestroys) arguments.emplace_back("--yes");
    std::map<std::string, std::string> environment = usage->environment;
    environment["OUTBOX_DB"] = kElsewhere;
    const std::string behind = Fresh();
    const std::string before = Fresh();
    const std::string joined = Fresh();
    for (const Words& line :
         {command + Words{"--db", behind} + arguments, Words{"--db", before} + command + arguments,
          Words{"--db=" + joined} + command + arguments}) {
      const Finished finished = RunOutboxd(line, environment);
      EXPECT_EQ(finished.exit_code, usage->exit_code) << base::Join(line, " ") << "\n"
                                                      << finished.standard_error;
      EXPECT_THAT(finished.standard_output + finished.standard_error,
                  Not(HasSubstr("nowhere.invalid")))
          << base::Join(line, " ");
    }
    if (usage->does == Does::kDestroys) {
      for (const std::string& url : {behind, before, joined}) {
        EXPECT_NE(Contents(url), Contents(scratch_->url())) << "the one that was named is changed";
      }
    }
  }
}

TEST_F(CommandsAndDatabases, WhatDestroysNamesTheDatabaseAsksAndStaysOnThisMachine) {
  for (const Words& command : CommandsWithDatabase()) {
    SCOPED_TRACE(base::Join(command, " "));
    const Usage* const usage = UsageOf(command);
    if (usage == nullptr) continue;
    const bool asks = HelpOf(command).find("--yes") != std::string::npos;
    EXPECT_EQ(asks, usage->does == Does::kDestroys);
    if (!asks) continue;

    const std::string url = Fresh();
    const std::string path = url.substr(std::string("sqlite:").size());
    const std::string before = Contents(url);
    const Finished unasked = RunOutboxd(command + Words{"--db", url} + usage->arguments, {});
    EXPECT_EQ(unasked.exit_code, 2);
    EXPECT_THAT(unasked.standard_error,
                AllOf(HasSubstr(path), HasSubstr("nobody is here to ask"), HasSubstr("--yes")));
    EXPECT_EQ(Contents(url), before);

    const Finished remote =
        RunOutboxd(command + Words{"--db", kElsewhere, "--yes"} + usage->arguments, {});
    EXPECT_EQ(remote.exit_code, 1);
    EXPECT_THAT(remote.standard_error,
                AllOf(HasSubstr("nowhere.invalid"), HasSubstr("is not on this machine"),
                      HasSubstr("--allow-remote")));
  }
}

}  // namespace
}  // namespace outbox::testing
