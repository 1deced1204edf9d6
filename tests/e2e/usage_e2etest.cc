// Command lines that are not quite right, and what beats what.
//
// The commands are read from the program's own help: one that is new is tested here too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "tests/e2e/support/commands.h"
#include "tests/e2e/support/scratch_database.h"
#include "tests/e2e/support/sql.h"

namespace outbox::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class UsageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    scratch_ = ScratchDatabase::Make(Dialect::kSqlite);
    ASSERT_NE(scratch_, nullptr);
    ASSERT_EQ(Run({"migrate", "up", "--table", "orders_outbox"}).exit_code, 0);
  }
  Finished Run(const Words& arguments, std::map<std::string, std::string> environment = {}) const {
    environment.try_emplace("OUTBOX_DB", scratch_->url());
    return RunOutboxd(arguments, environment);
  }
  void ExpectRefusal(const Words& arguments, const std::string& message,
                     const std::map<std::string, std::string>& environment = {}) const {
    const Finished refused = Run(arguments, environment);
    EXPECT_EQ(refused.exit_code, 2) << base::Join(arguments, " ");
    EXPECT_THAT(refused.standard_error, HasSubstr(message)) << base::Join(arguments, " ");
  }
  std::string File(const std::string& name, const std::string& text) const {
    const std::string path = scratch_->folder() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }

  std::unique_ptr<ScratchDatabase> scratch_;
};

TEST_F(UsageTest, HelpIsThereForEveryCommandAndForNoOther) {
  for (const Words& command : AllCommands()) {
    SCOPED_TRACE(base::Join(command, " "));
    const Finished help = Run(Words{"help"} + command);
    EXPECT_EQ(help.exit_code, 0) << help.standard_error;
    EXPECT_EQ(help.standard_output, HelpOf(command));
    EXPECT_THAT(help.standard_output, HasSubstr("Usage: outboxd " + base::Join(command, " ")));
  }
  ExpectRefusal({"help", "migrate", "prnt"},
                "outboxd: migrate has no command 'prnt'\nhint: did you mean print? "
                "outboxd migrate --help");
  ExpectRefusal({"sink", "tst", "--help"}, "sink has no command 'tst'");
  EXPECT_EQ(Run({"show", "x", "--help"}).exit_code, 0) << "an argument is no command";
}

TEST_F(UsageTest, AnEmptyFlagIsNotAnAbsentOne) {
  for (const Words& command : AllCommands()) {
    if (HelpOf(command).find("\n  --db ") == std::string::npos) continue;
    SCOPED_TRACE(base::Join(command, " "));
    Words arguments{"--db", ""};
    if (HelpOf(command).find("\n  --table TEXT REQUIRED") != std::string::npos ||
        HelpOf(command).find("\n  --table TEXT ... REQUIRED") != std::string::npos) {
      arguments = arguments + Words{"--table", "orders_outbox"};
    }
    if (command[0] == "show") arguments.emplace_back("01890000-0000-7000-8000-000000000001");
    if (command[0] == "relay")
      arguments = arguments + Words{"--table", "orders_outbox", "--sink", "null:", "--drain"};
    ExpectRefusal(command + arguments, "--db: is empty");
  }
  ExpectRefusal({"config", "--config", ""}, "--config: is empty");
  ExpectRefusal({"config", "--profile", ""}, "--profile: is empty");
}

TEST_F(UsageTest, AnEmptyFilterRepairsNothing) {
  const auto sql = SqlConnection::Open(scratch_->url());
  ASSERT_NE(sql, nullptr);
  ASSERT_TRUE(sql->Execute(
      "INSERT INTO orders_outbox (id, topic, payload, status, attempts, available_at) VALUES "
      "('01890000-0000-7000-8000-000000000001', 'a.b.c.v1', '{}', 'dead', 3, "
      "9223372036854775807)"))
      << sql->error();
  for (const char* command : {"retry", "delete"}) {
    for (const char* flag : {"--topic", "--since", "--until", "--error"}) {
      ExpectRefusal({command, "--table", "orders_outbox", "--all-dead", "--yes", flag, ""},
                    base::StrCat(flag, ": is empty"));
    }
  }
  EXPECT_EQ(sql->Number("SELECT count(*) FROM orders_outbox WHERE status = 'dead'"), 1);
}

TEST_F(UsageTest, AWordThatIsAlmostRightIsNamed) {
  ExpectRefusal({"list", "--status", "faild"},
                "--status: 'faild' is not one of pending, failed, processing, delivered, dead, "
                "all; did you mean failed?");
  ExpectRefusal({"enqueue", "--table", "orders_outbox", "--topics", "strct"},
                "did you mean strict?");
  ExpectRefusal({"migrate", "up", "--table", "orders_outbox", "--topics", "relxed"},
                "did you mean relaxed?");
  const Words relay{"relay", "--table", "orders_outbox", "--sink", "null:"};
  ExpectRefusal(relay + Words{"--claim", "leese"}, "did you mean lease?");
  ExpectRefusal(relay + Words{"--retry-jitter", "aditive"}, "did you mean additive?");
  ExpectRefusal(relay + Words{"--profile", "toolkti"}, "did you mean 'toolkit'?");
  ExpectRefusal(relay + Words{"--batch-sise", "1"}, "did you mean --batch-size?");
  ExpectRefusal({"relay", "--table", "orders_outbox", "--sink", "nul:"}, "did you mean 'null:'?");
  ExpectRefusal({"config"}, "did you mean debug?", {{"OUTBOX_LOG_LEVEL", "debg"}});
  ExpectRefusal({"config"}, "did you mean OUTBOX_RELAY_WINDOW?", {{"OUTBOX_RELAY_WINDOWS", "1"}});
  ExpectRefusal({"config", "--config", File("a.toml", "[rely]\nwindow = 1\n")},
                "a.toml:1: [rely]: no such section; did you mean 'relay'?");
  ExpectRefusal(
      {"config", "--config", File("b.toml", "[[sink]]\nname = \"a\"\nadress = \"null:\"\n")},
      "b.toml:3: sink.adress: unknown key; did you mean 'address'?");
  ExpectRefusal({"config", "--config",
                 File("c.toml", "[[route]]\ntable = \"a\"\ntopic = \"#\"\nsinks = [\"a\"]\n")},
                "c.toml:3: route.topic: unknown key; did you mean 'topics'?");
}

TEST_F(UsageTest, AFlagBeatsItsVariable) {
  const std::map<std::string, std::string> variables{
      {"OUTBOX_DB", "postgres://nowhere.invalid/shop"},
      {"OUTBOX_PROFILE", "orders"},
      {"OUTBOX_CONFIG", "/no/such/file"}};
  const Finished config = Run({"config", "--json", "--db", scratch_->url(), "--profile", "toolkit",
                               "--config", File("empty.toml", "")},
                              variables);
  EXPECT_EQ(config.exit_code, 0) << config.standard_error;
  EXPECT_THAT(config.standard_output,
              AllOf(HasSubstr("flag --db"), HasSubstr("\"toolkit\",\"origin\":\"flag --profile\""),
                    Not(HasSubstr("nowhere.invalid"))));
  ExpectRefusal({"config", "--db", scratch_->url()}, "/no/such/file", variables);

  const Words relay{"relay", "--table", "orders_outbox", "--drain"};
  const std::map<std::string, std::string> settings{{"OUTBOX_RELAY_TABLES", "none_outbox"},
                                                    {"OUTBOX_RELAY_SINK", "gopher://x"},
                                                    {"OUTBOX_LOG_LEVEL", "debug"},
                                                    {"OUTBOX_LOG_FORMAT", "json"},
                                                    {"OUTBOX_RELAY_HEARTBEAT_INTERVAL", "1s"},
                                                    {"OUTBOX_PROFILE", "default"}};
  const Finished quiet =
      Run(relay + Words{"--route", "orders_outbox=null:", "--log-level", "error"}, settings);
  EXPECT_EQ(quiet.exit_code, 0) << quiet.standard_error;
  EXPECT_THAT(quiet.standard_error, Not(HasSubstr("draining")));
  const Finished logfmt =
      Run(relay + Words{"--route", "orders_outbox=null:", "--log-format", "logfmt"}, settings);
  EXPECT_THAT(logfmt.standard_error, HasSubstr("msg="));
  ExpectRefusal(relay + Words{"--sink", "null:", "--heartbeat-interval", "1ms"},
                "flag --heartbeat-interval: relay.heartbeat_interval: ", settings);
  // Port 1 answers nobody; it is told when it was waited for.
  for (const char* command : {"relay", "serve"}) {
    const Finished away =
        Run({command, "--db", "postgres://u@127.0.0.1:1/d", "--wait-for-db", "0s"},
            {{"OUTBOX_DB_WAIT", "1h"},
             {"OUTBOX_RELAY_TABLES", "orders_outbox"},
             {"OUTBOX_RELAY_SINK", "null:"}});
    EXPECT_EQ(away.exit_code, 1) << away.standard_error;
    EXPECT_THAT(away.standard_error, Not(HasSubstr("it was waited for")));
  }
}

}  // namespace
}  // namespace outbox::testing
