// Every command of the real program, its success and its failures, on PostgreSQL and on SQLite.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <thread>

#include "base/text.h"
#include "cli/terminal.h"
#include "tests/e2e/support/dialects.h"
#include "tests/e2e/support/scratch_database.h"
#include "tests/e2e/support/terminal.h"
#include "tests/support/chatterbox.h"
#include "tests/support/http_server.h"
#include "tests/support/listener.h"
#include "tests/support/process.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr const char* kTopic = "orders.order.created.v1";

// The commands, run on a database of their own.
class Commands {
 protected:
  explicit Commands(Dialect dialect) : scratch_(ScratchDatabase::Make(dialect)) {}

  Finished Outboxd(std::vector<std::string> arguments, const std::string& input = "",
                   std::map<std::string, std::string> environment = {}) const {
    arguments.insert(arguments.begin(), OUTBOXD_PATH);
    environment.try_emplace("OUTBOX_DB", scratch_->url());
    return Process::Run(arguments,
                        {.environment = std::move(environment), .standard_input = input});
  }
  // The same, its streams led elsewhere by the shell: "> /dev/full".
  Finished OutboxdWith(const std::string& redirection,
                       const std::vector<std::string>& arguments) const {
    std::vector<std::string> command{
        "bash", "-c", base::StrCat("\"$@\" ", redirection, "; exit ${PIPESTATUS[0]}"), "bash",
        OUTBOXD_PATH};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return Process::Run(command, {.environment = {{"OUTBOX_DB", scratch_->url()}}});
  }
  // The output of a command that must succeed.
  std::string Ok(const std::vector<std::string>& arguments, const std::string& input = "") const {
    const Finished finished = Outboxd(arguments, input);
    EXPECT_EQ(finished.exit_code, 0) << base::Join(arguments, " ") << "\n"
                                     << finished.standard_error;
    return finished.standard_output;
  }
  Json OkJson(std::vector<std::string> arguments, const std::string& input = "") const {
    arguments.emplace_back("--json");
    return Json::parse(Ok(arguments, input));
  }
  // One clear line and a remedy, no stack, the exit code asked for.
  void ExpectFailure(const std::vector<std::string>& arguments, int exit_code,
                     const std::string& message, const std::string& hint = "",
                     const std::string& input = "") const {
    const Finished finished = Outboxd(arguments, input);
    EXPECT_EQ(finished.exit_code, exit_code) << base::Join(arguments, " ");
    EXPECT_THAT(finished.standard_error, AllOf(HasSubstr("outboxd: "), HasSubstr(message)));
    if (!hint.empty()) {
      EXPECT_THAT(finished.standard_error, AllOf(HasSubstr("\nhint: "), HasSubstr(hint)));
    }
  }
  void MigrateUp(const std::string& table = "orders_outbox") const {
    Ok({"migrate", "up", "--table", table});
  }
  std::string Enqueue(const std::string& payload = "{}") const {
    return OkJson({"enqueue", "--table", "orders_outbox", "--topic", kTopic, "--payload", payload})
        .at("id");
  }
  // The program refuses no message here. So one attempt is put on record, as a crashed relay would
  // leave it, and a relay that allows no second one finds it.
  void Kill(const std::string& id) const {
    Sql("UPDATE orders_outbox SET attempts = 1 WHERE id = '" + id + "'");
    ExpectFailure(
        {"relay", "--table", "orders_outbox", "--sink", "null:", "--max-attempts", "1", "--drain"},
        kFailed, "1 message went dead", "outboxd list --status dead");
    ASSERT_EQ(Stats().at("dead"), 1);
  }
  void Sql(const std::string& statement) const {
    const auto connection = SqlConnection::Open(scratch_->url());
    ASSERT_NE(connection, nullptr);
    ASSERT_TRUE(connection->Execute(statement)) << connection->error();
  }
  // How the program calls a table.
  std::string Named(const std::string& table) const {
    return scratch_->dialect() == Dialect::kPostgres ? "public." + table : table;
  }
  std::string File(const std::string& name) const { return scratch_->folder() + "/" + name; }
  Json Stats() const { return OkJson({"stats"}).at("tables").at(0); }
  std::string Read(const std::string& path) const {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  const std::unique_ptr<ScratchDatabase> scratch_;
};

// What has nothing to do with the kind of database.
class CliTest : public ::testing::Test, protected Commands {
 protected:
  CliTest() : Commands(Dialect::kSqlite) {}
};

class CliOnEveryDatabase : public OnDialect, protected Commands {
 protected:
  CliOnEveryDatabase() : Commands(GetParam()) {}
  void SetUp() override {
    if (GetParam() == Dialect::kPostgres) OUTBOX_REQUIRE_POSTGRES();
    ASSERT_NE(scratch_, nullptr);
  }
};
OUTBOX_ON_EVERY_DIALECT(CliOnEveryDatabase);

// --- the program itself ---

TEST_F(CliTest, PrintsItsVersion) {
  EXPECT_THAT(Ok({"version"}), StartsWith("outboxd "));
  EXPECT_EQ(Ok({"--version"}), Ok({"version"}));
  EXPECT_TRUE(OkJson({"version"}).at("version").is_string());
}

TEST_F(CliTest, HelpListsEveryCommand) {
  const std::string help = Ok({"--help"});
  for (const char* command : {"serve", "relay", "migrate", "enqueue", "list", "show", "stats",
                              "retry", "delete", "config", "sink", "version"}) {
    EXPECT_THAT(help, HasSubstr(command));
    EXPECT_THAT(Ok({command, "--help"}), HasSubstr("--help"));
  }
}

TEST_F(CliTest, HelpOfACommandIsTheSameBothWays) {
  EXPECT_EQ(Ok({"help"}), Ok({"--help"}));
  EXPECT_EQ(Ok({"help", "stats"}), Ok({"stats", "--help"}));
  EXPECT_EQ(Ok({"help", "migrate", "up"}), Ok({"migrate", "up", "--help"}));
  ExpectFailure({"help", "stast"}, kUsage, "there is no command 'stast'", "did you mean 'stats'?");
  ExpectFailure({"help", "migrate", "upp"}, kUsage, "outboxd: migrate has no command 'upp'",
                "did you mean up? outboxd migrate --help");
  ExpectFailure({"help", "stats", "this"}, kUsage, "outboxd: stats does not take: this");
  ExpectFailure({"stats", "--tabel", "--help"}, kUsage, "outboxd: stats has no flag --tabel\n");
}

TEST_F(CliTest, RefusesUnknownCommandsAndFlags) {
  ExpectFailure({"stast"}, kUsage, "there is no command 'stast'", "did you mean 'stats'?");
  ExpectFailure({"stats", "--tabel", "x"}, kUsage, "outboxd: stats has no flag --tabel\n",
                "did you mean --table? outboxd stats --help");
  ExpectFailure({"migrate", "up", "--table", "x", "--tpics=strict"}, kUsage,
                "outboxd: migrate up has no flag --tpics\n",
                "did you mean --topics? outboxd migrate up --help");
  ExpectFailure({"migrate", "up", "--x", "y"}, kUsage, "outboxd: migrate up has no flag --x\n",
                "hint: outboxd migrate up --help");
  ExpectFailure({"sink", "test", "null:", "--tpic", "x"}, kUsage,
                "outboxd: sink test has no flag --tpic\n", "did you mean --topic?");
  ExpectFailure({"migrate", "upp", "--table", "x"}, kUsage, "outboxd: migrate has no command 'upp'",
                "did you mean up? outboxd migrate --help");
  ExpectFailure({"stats", "this", "that"}, kUsage, "outboxd: stats does not take: this that");
  ExpectFailure({"migrate", "up"}, kUsage, "--table is required", "outboxd migrate up --help");
  ExpectFailure({}, kUsage, "outboxd needs a command: serve, relay", "outboxd --help");
  ExpectFailure({"migrate"}, kUsage, "migrate needs a command: up, down, status, print");
}

TEST_F(CliTest, KnowsWhoWantsToReplay) {
  ExpectFailure({"replay", "x"}, kUsage, "there is no command 'replay'", "outboxd retry");
}

TEST_F(CliTest, HelpIsNoWiderThanTheTerminal) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{}, {"relay"}, {"list"}, {"migrate", "up"}, {"sink", "test"}}) {
    std::vector<std::string> help = command;
    help.emplace_back("--help");
    for (const std::string& line : base::Split(Ok(help), '\n')) {
      EXPECT_LE(cli::DisplayWidth(line), 80u) << line;
    }
    help.insert(help.begin(), OUTBOXD_PATH);
    Terminal terminal(help, 60);
    EXPECT_EQ(terminal.Wait(), 0);
    for (const std::string& line : base::Split(terminal.screen(), '\n')) {
      EXPECT_LE(cli::DisplayWidth(base::Trim(line)), 60u) << line;
    }
  }
}

TEST_F(CliTest, AsksForADatabase) {
  const Finished finished = Outboxd({"stats"}, "", {{"OUTBOX_DB", ""}});
  EXPECT_EQ(finished.exit_code, kUsage);
  EXPECT_THAT(finished.standard_error, HasSubstr("no database is given\nhint: set OUTBOX_DB"));
}

TEST_F(CliTest, SaysThatAFlagBelongsBehindTheCommand) {
  ExpectFailure({"--json", "stats"}, kUsage, "outboxd: --json: stands before the command\n",
                "write --json after the command");
  ExpectFailure({"migrate", "--table=x", "up"}, kUsage, "--table: stands before the command",
                "outboxd migrate up --table");
}

TEST_F(CliTest, OutputThatCanNotBeWrittenIsAFailure) {
  MigrateUp();
  for (int i = 0; i < 30; ++i) Enqueue();
  std::ofstream(File("one.toml")) << "[[table]]\nname = \"orders_outbox\"\nsink = \"null:\"\n";
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"list"},
           {"list", "--json"},
           {"list", "--jsonl"},
           {"stats"},
           {"stats", "--json"},
           {"stats", "--jsonl"},
           {"relays"},
           {"relays", "--json"},
           {"migrate", "status", "--jsonl"},
           {"sink", "test", "null:", "--jsonl"},
           {"config", "--config", File("one.toml")},
           {"migrate", "print", "--table", "orders_outbox"},
           {"enqueue", "--table", "orders_outbox", "--topic", kTopic, "--payload", "{}"},
           {"version"},
           {"--version"},
           {"relay", "--help"}}) {
    const Finished full = OutboxdWith("> /dev/full", command);
    EXPECT_EQ(full.exit_code, kFailed) << base::Join(command, " ");
    EXPECT_THAT(full.standard_error,
                HasSubstr("outboxd: standard output: No space left on device\n"));
    const Finished closed = OutboxdWith(">&-", command);
    EXPECT_EQ(closed.exit_code, kFailed) << base::Join(command, " ");
    EXPECT_THAT(closed.standard_error, HasSubstr("outboxd: standard output: "));
    // Who ends reading has read what it wanted.
    const Finished gone = OutboxdWith("| true", command);
    EXPECT_EQ(gone.exit_code, 0) << base::Join(command, " ");
    EXPECT_THAT(gone.standard_error, IsEmpty());
  }
}

// --- migrate ---

TEST_P(CliOnEveryDatabase, MigratesUpOnceAndDownOnce) {
  EXPECT_THAT(Ok({"migrate", "up", "--table", "orders_outbox"}), HasSubstr("applied migration 1"));
  EXPECT_EQ(Ok({"migrate", "up", "--table", "orders_outbox"}), "orders_outbox: nothing to do\n");
  const auto table_status = [&] {
    return OkJson({"migrate", "status", "--table", "orders_outbox"}).at("tables").at(0);
  };
  const Json status = table_status();
  EXPECT_EQ(status.at("exists"), true);
  EXPECT_EQ(status.at("state"), "up to date");
  EXPECT_THAT(Ok({"migrate", "status"}), HasSubstr("orders_outbox"));
  EXPECT_THAT(Ok({"migrate", "print", "--table", "orders_outbox"}), HasSubstr("CREATE TABLE"));
  EXPECT_THAT(Ok({"migrate", "down", "--table", "orders_outbox", "--yes"}),
              HasSubstr("reverted migration 1"));
  EXPECT_EQ(table_status().at("exists"), false);
  EXPECT_TRUE(OkJson({"migrate", "status"}).at("tables").empty());
}

TEST_P(CliOnEveryDatabase, MigrateDownKeepsUndeliveredMessages) {
  MigrateUp();
  Enqueue();
  ExpectFailure({"migrate", "down", "--table", "orders_outbox", "--yes"}, kFailed, "orders_outbox");
  EXPECT_EQ(Stats().at("pending"), 1);
  Ok({"migrate", "down", "--table", "orders_outbox", "--discard-undelivered", "--yes"});
}

TEST_P(CliOnEveryDatabase, MigrateDownAsksFirst) {
  MigrateUp();
  ExpectFailure({"migrate", "down", "--table", "orders_outbox"}, kUsage, "nobody is here to ask");
  EXPECT_EQ(OkJson({"migrate", "status"}).at("tables").at(0).at("exists"), true);
}

TEST_F(CliTest, MigrateDownIsRefusedOnAnotherMachine) {
  ExpectFailure({"migrate", "down", "--table", "orders_outbox", "--yes", "--db",
                 "postgres://db.example/shop"},
                kFailed, "is not on this machine", "--allow-remote");
}

TEST_P(CliOnEveryDatabase, MigrateUpTellsWhichOptionsItSwitched) {
  MigrateUp();
  const std::vector<std::string> relax{"migrate",       "up",       "--table",
                                       "orders_outbox", "--topics", "relaxed"};
  EXPECT_EQ(Ok(relax), "orders_outbox: topics: relaxed\n");
  EXPECT_EQ(Ok(relax), "orders_outbox: nothing to do\n");
  const Json strict = OkJson({"migrate", "up", "--table", "orders_outbox", "--topics", "strict"});
  EXPECT_EQ(strict.at("tables").at(0).at("switched").at("topics"), "strict");
  EXPECT_TRUE(strict.at("tables").at(0).at("applied").empty());
}

TEST_P(CliOnEveryDatabase, MigrateStatusShowsTheOptionsOfATable) {
  MigrateUp();
  Ok({"migrate", "up", "--table", "sales_outbox", "--topics", "relaxed"});
  const Json status = OkJson({"migrate", "status"}).at("tables");
  EXPECT_EQ(status.at(0).at("switches").at("topics"), "strict");
  EXPECT_EQ(status.at(1).at("switches").at("topics"), "relaxed");
  EXPECT_EQ(status.at(0).at("switches").contains("notify"), GetParam() == Dialect::kPostgres);
  EXPECT_THAT(Ok({"migrate", "status"}), AllOf(HasSubstr("TOPICS"), HasSubstr("relaxed")));
  const Json absent = OkJson({"migrate", "status", "--table", "no_outbox"}).at("tables").at(0);
  EXPECT_TRUE(absent.at("switches").empty());
}

TEST_F(CliTest, MigrateWritesOneObjectForSeveralTables) {
  const std::vector<std::string> tables{"--table", "orders_outbox", "--table", "sales_outbox"};
  for (const char* step : {"up", "status", "print", "down"}) {
    std::vector<std::string> command{"migrate", step};
    command.insert(command.end(), tables.begin(), tables.end());
    if (step == std::string("down")) command.emplace_back("--yes");
    EXPECT_EQ(OkJson(command).at("tables").size(), 2u) << step;
  }
}

TEST_F(CliTest, MigrateWritesWhatItDidBeforeItFailedAndNothingElse) {
  const Finished partly = Outboxd(
      {"migrate", "up", "--json", "--table", "orders_outbox", "--table", "Bad", "--table", "last"});
  EXPECT_EQ(partly.exit_code, kUsage);
  const Json tables = Json::parse(partly.standard_output).at("tables");
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(tables.at(0).at("table"), "orders_outbox");
  EXPECT_THAT(Outboxd({"migrate", "up", "--json", "--table", "Bad"}).standard_output, IsEmpty());
}

TEST_F(CliTest, MigratePrintsWithoutADatabase) {
  for (const char* kind :
       {"postgres://nowhere.invalid/shop", "postgres://", "sqlite:/no/such/file"}) {
    const std::string all = Ok({"migrate", "print", "--db", kind, "--table", "orders_outbox"});
    EXPECT_THAT(all, AllOf(StartsWith("BEGIN"), HasSubstr("COMMIT;")));
    const std::string step = Ok({"migrate", "print", "--db", kind, "--table", "orders_outbox",
                                 "--from", "3", "--to", "4", "--no-transaction"});
    EXPECT_THAT(step, AllOf(Not(HasSubstr("COMMIT;")), HasSubstr("create_attempt"),
                            Not(HasSubstr("create_outbox"))));
    ExpectFailure(
        {"migrate", "print", "--db", kind, "--table", "orders_outbox", "--from", "3", "--to", "99"},
        kUsage, "no migration leads from version 3 to 99", "versions are 0");
    ExpectFailure(
        {"migrate", "print", "--db", kind, "--table", "orders_outbox", "--from", "4", "--to", "4"},
        kUsage, "no migration leads from version 4 to 4");
  }
}

TEST_F(CliTest, MigrateRefusesHostileTableNames) {
  ExpectFailure({"migrate", "up", "--table", "x\"; DROP TABLE y; --"}, kUsage,
                "is not a valid table name");
  EXPECT_FALSE(std::filesystem::exists(File("shop.db")));
}

TEST_P(CliOnEveryDatabase, RelaxedTopicsAreTheTablesChoice) {
  Ok({"migrate", "up", "--table", "orders_outbox", "--topics", "relaxed"});
  Ok({"enqueue", "--table", "orders_outbox", "--topics", "relaxed", "--topic", "Anything Goes",
      "--payload", "1"});
}

// --- enqueue ---

TEST_P(CliOnEveryDatabase, EnqueuesOneMessageAndReportsADuplicate) {
  MigrateUp();
  const std::vector<std::string> command{
      "enqueue", "--table", "orders_outbox", "--topic", kTopic,     "--payload", "{\"n\": 1.0}",
      "--key",   "42",      "--dedupe-key",  "d",       "--header", "h=v"};
  const Json first = OkJson(command);
  EXPECT_EQ(first.at("already_enqueued"), false);
  const Json second = OkJson(command);
  EXPECT_EQ(second.at("already_enqueued"), true);
  EXPECT_EQ(second.at("id"), first.at("id"));
  const std::string id = first.at("id");
  EXPECT_THAT(Ok({"show", id, "--json"}), HasSubstr(R"("payload":{"n": 1.0})"));
}

TEST_P(CliOnEveryDatabase, EnqueuesJsonLinesInBulk) {
  MigrateUp();
  std::string lines;
  for (int i = 0; i < 2500; ++i) {
    lines += base::StrCat(R"({"topic":")", kTopic, R"(","payload":{"n":)", i, "}}\n");
  }
  const Json summary = OkJson({"enqueue", "--table", "orders_outbox"}, lines);
  EXPECT_EQ(summary.at("enqueued"), 2500);
  EXPECT_EQ(Stats().at("pending"), 2500);
}

TEST_P(CliOnEveryDatabase, ABadLineIsNamedAndItsWholeBatchRefused) {
  MigrateUp();
  const std::string good = base::StrCat(R"({"topic":")", kTopic, R"(","payload":{}})", "\n");
  const std::string lines = good + "{broken\n" + good + R"({"topic":"Bad","payload":1})" + "\n";
  const Finished finished = Outboxd({"enqueue", "--table", "orders_outbox"}, lines);
  EXPECT_EQ(finished.exit_code, kFailed);
  EXPECT_THAT(finished.standard_error, HasSubstr("line 2: is not valid JSON"));
  EXPECT_THAT(finished.standard_error, HasSubstr("line 4: "));
  EXPECT_THAT(finished.standard_error, HasSubstr("2 lines refused"));
  EXPECT_EQ(Stats().at("pending"), 0);

  const Finished skipping =
      Outboxd({"enqueue", "--table", "orders_outbox", "--skip-invalid"}, lines);
  EXPECT_EQ(skipping.exit_code, kFailed);
  EXPECT_EQ(Stats().at("pending"), 2);
}

TEST_P(CliOnEveryDatabase, EnqueueRefusesBadMessagesAndWritesNothing) {
  MigrateUp();
  const auto enqueue = [](std::vector<std::string> flags) {
    std::vector<std::string> command{"enqueue", "--table", "orders_outbox"};
    command.insert(command.end(), flags.begin(), flags.end());
    return command;
  };
  ExpectFailure(enqueue({"--topic", kTopic, "--payload", "{"}), kUsage, "payload");
  ExpectFailure(enqueue({"--topic", "Not A Topic", "--payload", "{}"}), kUsage, "topic");
  ExpectFailure(enqueue({"--topic", kTopic}), kUsage, "--payload: is required");
  ExpectFailure(enqueue({"--topic", kTopic, "--payload", "{}", "--id", "7"}), kUsage,
                "'7' is not a UUID");
  ExpectFailure(enqueue({"--topic", kTopic, "--payload", "{}", "--delay", "soon"}), kUsage,
                "--delay: 'soon' is not a duration", "200ms");
  ExpectFailure(enqueue({"--topic", kTopic, "--payload", "{}", "--event-version", "two"}), kUsage,
                "outboxd: --event-version: 'two' is not a number", "outboxd enqueue --help");
  ExpectFailure(enqueue({"--topic", kTopic, "--payload", "{}", "--header", "x"}), kUsage,
                "--header");
  ExpectFailure(enqueue({}), kFailed, "1 line refused", "",
                base::StrCat(R"({"topic":")", kTopic, R"(","payload":")",
                             std::string((1 << 20) + 1, 'x'), "\"}\n"));
  ExpectFailure(enqueue({}), kFailed, "1 line refused", "",
                base::StrCat(R"({"topic":")", kTopic, R"(","payload":{},"key":"a\u0000b"})", "\n"));
  ExpectFailure(enqueue({}), kFailed, "1 line refused", "",
                std::string("{}\0\"", 4) + std::string(3000, 'a') + "\n");
  // The table has the last word, with the same exit code.
  ExpectFailure(enqueue({"--topic", "A", "--payload", "{}", "--topics", "relaxed"}), kUsage,
                "topic");
  EXPECT_EQ(Stats().at("pending"), 0);
}

TEST_P(CliOnEveryDatabase, LargeMessagesAreEnqueuedInSeveralTransactions) {
  MigrateUp();
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  std::string input;
  for (int i = 0; i < 20; ++i) {
    input += base::StrCat(R"({"topic":")", kTopic, R"(","payload":")", std::string(kMiB - 100, 'x'),
                          "\"}\n");
  }
  input += "{\n";  // takes its batch along, and none before
  ExpectFailure({"enqueue", "--table", "orders_outbox"}, kFailed, "1 line refused",
                "nothing from line 18 on was enqueued", input);
  EXPECT_EQ(Stats().at("pending"), 17);
}

TEST_F(CliTest, EnqueueIgnoresNoFlagOfAMessage) {
  MigrateUp();
  ExpectFailure({"enqueue", "--table", "orders_outbox", "--payload", "{}"}, kUsage,
                "--payload: goes with --topic only", "JSON lines on standard input");
  ExpectFailure({"enqueue", "--table", "orders_outbox", "--event-version", "2"}, kUsage,
                "--event-version: goes with --topic only");
  ExpectFailure({"enqueue", "--table", "orders_outbox", "--topic", "", "--payload", "{}"}, kUsage,
                "topic");
  EXPECT_EQ(Stats().at("pending"), 0);
}

TEST_F(CliTest, EnqueueFailsOnInputItCanNotRead) {
  MigrateUp();
  const std::vector<std::string> enqueue{"enqueue", "--table", "orders_outbox"};
  const Finished folder = OutboxdWith("< /", enqueue);
  EXPECT_EQ(folder.exit_code, kFailed);
  EXPECT_THAT(folder.standard_error, AllOf(HasSubstr("outboxd: standard input: Is a directory\n"),
                                           HasSubstr("hint: nothing from line 1 on was enqueued")));
  const Finished closed = OutboxdWith("<&-", enqueue);
  EXPECT_EQ(closed.exit_code, kFailed);
  EXPECT_THAT(closed.standard_error, HasSubstr("outboxd: standard input: "));
  const Finished empty = OutboxdWith("< /dev/null", enqueue);
  EXPECT_EQ(empty.exit_code, 0);
  EXPECT_THAT(empty.standard_output, HasSubstr("enqueued 0 messages"));
}

// --- the wrong database, table or schema ---

TEST_P(CliOnEveryDatabase, NamesATableThatDoesNotExist) {
  MigrateUp();
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"stats", "--table", "absent"},
        {"list", "--table", "absent"},
        {"retry", "--table", "absent", "--all-dead", "--yes"},
        {"relay", "--table", "absent", "--sink", "null:", "--drain"},
        {"enqueue", "--table", "absent", "--topic", kTopic, "--payload", "{}"}}) {
    ExpectFailure(command, kFailed, "absent", "outboxd migrate up");
  }
}

TEST_P(CliOnEveryDatabase, AMisspeltTableIsNotToBeCreated) {
  MigrateUp("other_outbox");
  MigrateUp();
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"stats", "--table", "order_outbox"},
        {"list", "--table", "order_outbox"},
        {"show", "--table", "order_outbox", "00000000-0000-7000-8000-000000000000"},
        {"pause", "--table", "order_outbox"},
        {"relay", "--table", "order_outbox", "--sink", "null:", "--drain"}}) {
    ExpectFailure(command, kFailed, "order_outbox", "did you mean " + Named("orders_outbox") + "?");
  }
  ExpectFailure({"stats", "--table", "quite_unlike"}, kFailed, "quite_unlike",
                "outbox tables: " + Named("orders_outbox") + ", " + Named("other_outbox"));
}

TEST_P(CliOnEveryDatabase, NamesATableThatIsNotOurs) {
  MigrateUp();
  Sql("CREATE TABLE invoices (id INTEGER PRIMARY KEY)");
  ExpectFailure({"stats", "--table", "invoices"}, kFailed, "invoices");
}

// A table as a release before or after this one would leave it.
TEST_P(CliOnEveryDatabase, EveryCommandRefusesASchemaOlderOrNewerThanItself) {
  MigrateUp();
  const std::string id = Enqueue();
  const std::string table = Named("orders_outbox");
  const std::string records = Pick("outbox.migration", "outbox_migration");
  const int latest = OkJson({"migrate", "status"}).at("tables").at(0).at("version_latest");
  Ok({"token", "--new-secret", File("secret")});
  std::ofstream(File("serve.toml"))
      << "database = \"" << scratch_->url() << "\"\n[service]\nlisten = \"127.0.0.1:0\"\n"
      << "auth_secret_file = \"" << File("secret") << "\"\n"
      << "[[table]]\nname = \"orders_outbox\"\nsink = \"null:\"\n";
  const auto expect_refused = [&](const std::string& message, const std::string& hint) {
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"stats", "--table", "orders_outbox"},
          {"stats"},
          {"list"},
          {"show", id},
          {"retry", "--table", "orders_outbox", "--all-failed", "--yes"},
          {"delete", "--table", "orders_outbox", "--yes", id},
          {"relay", "--table", "orders_outbox", "--sink", "null:", "--drain"},
          {"serve", "--config", File("serve.toml")},
          {"enqueue", "--table", "orders_outbox", "--topic", kTopic, "--payload", "{}"},
          {"enqueue", "--table", "orders_outbox"}}) {
      ExpectFailure(command, kFailed, "table " + table + " has schema version " + message, hint);
    }
  };

  Sql("DELETE FROM " + records + " WHERE number = " + std::to_string(latest));
  expect_refused(base::StrCat(latest - 1, ", older than the ", latest, " this program needs"),
                 "outboxd migrate up --table " + table);

  Sql("INSERT INTO " + records + " (table_name, number, name) VALUES ('" + table + "', " +
      std::to_string(latest) + ", 'x'), ('" + table + "', " + std::to_string(latest + 1) +
      ", 'x')");
  const std::string newer =
      base::StrCat(latest + 1, ", newer than the ", latest, " this program knows");
  expect_refused(newer, "or a newer one");
  for (const char* direction : {"up", "down"}) {
    ExpectFailure({"migrate", direction, "--table", "orders_outbox"}, kFailed, newer,
                  "or a newer one");
  }

  Sql("DELETE FROM " + records + " WHERE number > " + std::to_string(latest));
  EXPECT_EQ(Stats().at("pending"), 1);
  EXPECT_EQ(OkJson({"show", id}).at("attempts"), 0);
}

TEST_F(CliTest, RefusesWrongDatabaseAddresses) {
  ExpectFailure({"stats", "--db", "mysql://x"}, kUsage, "is not a database address", "sqlite:PATH");
  ExpectFailure({"stats", "--db", "sqlite:" + File("absent.db")}, kFailed, "absent.db");
  std::ofstream(File("text.db")) << std::string(4096, 'x');
  ExpectFailure({"stats", "--db", "sqlite:" + File("text.db")}, kUsage, "text.db");
}

TEST_F(CliTest, NeverShowsThePasswordOfAnAddress) {
  const Finished finished =
      Outboxd({"stats", "--db", "postgres://user:hunter2@127.0.0.1:1/x?connect_timeout=1"});
  EXPECT_EQ(finished.exit_code, kFailed);
  EXPECT_THAT(finished.standard_error, Not(HasSubstr("hunter2")));
}

// --- relay ---

TEST_P(CliOnEveryDatabase, RelayDrainsToStandardOutputAndKeepsItClean) {
  MigrateUp();
  const std::string id = Enqueue(R"({"n": 1.0})");
  const Finished finished =
      Outboxd({"relay", "--table", "orders_outbox", "--sink", "stdout:", "--drain"});
  EXPECT_EQ(finished.exit_code, 0) << finished.standard_error;
  const Json line = Json::parse(finished.standard_output);
  EXPECT_EQ(line.at("id"), id);
  EXPECT_EQ(line.at("attempt"), 1);
  EXPECT_THAT(finished.standard_output, HasSubstr(R"("payload":{"n": 1.0})"));
  EXPECT_THAT(finished.standard_error, HasSubstr("delivered 1, retried 0, dead 0"));
  EXPECT_EQ(OkJson({"stats", "--exact"}).at("tables").at(0).at("delivered"), 1);
}

TEST_P(CliOnEveryDatabase, RelayTakesSeveralTablesEachWithItsSink) {
  MigrateUp("a_outbox");
  MigrateUp("b_outbox");
  for (const char* table : {"a_outbox", "b_outbox"}) {
    Ok({"enqueue", "--table", table, "--topic", kTopic, "--payload", "{}"});
  }
  const Json summary = OkJson({"relay", "--route", "a_outbox=file:" + File("a.jsonl"), "--route",
                               "b_outbox=file:" + File("b.jsonl"), "--drain"});
  EXPECT_EQ(summary.at("delivered"), 2);
  EXPECT_THAT(Read(File("a.jsonl")), HasSubstr("a_outbox"));
  EXPECT_THAT(Read(File("b.jsonl")), HasSubstr("b_outbox"));
}

TEST_P(CliOnEveryDatabase, RelayTakesEverySettingAsAFlag) {
  MigrateUp();
  Enqueue();
  const Json summary =
      OkJson({"relay", "--table", "orders_outbox", "--sink", "null:", "--drain", "--profile",
              "toolkit", "--batch-size", "7", "--poll-interval", "10ms", "--single-active", "false",
              "--retention", "0", "--async-ack"});
  EXPECT_EQ(summary.at("delivered"), 1);
  EXPECT_EQ(OkJson({"stats", "--exact"}).at("tables").at(0).at("delivered"), 0) << "deleted at ack";
}

TEST_P(CliOnEveryDatabase, RelayRefusesWhatItCanNotDo) {
  MigrateUp();
  ExpectFailure({"relay", "--table", "orders_outbox", "--sink", "gopher://x"}, kUsage,
                "unknown sink scheme 'gopher:'", "file:PATH");
  ExpectFailure({"relay", "--table", "orders_outbox"}, kUsage, "has no sink");
  ExpectFailure(
      {"relay", "--sink", "null:"}, kUsage,
      "no table to deliver from: add a [[table]] to the file, set OUTBOX_RELAY_TABLES, or "
      "give relay --table");
  ExpectFailure({"relay", "--route", "orders_outbox"}, kUsage, "--route");
  ExpectFailure(
      {"relay", "--table", "orders_outbox", "--sink", "null:", "--drain", "--timeout", "5"}, kUsage,
      "--timeout: '5' is not a duration", "60s");
  ExpectFailure({"relay", "--table", "orders_outbox", "--sink", "null:", "--topics", ""}, kUsage,
                "flag --topics: relay.topics: has no pattern");
  ExpectFailure({"relay", "--table", "orders_outbox", "--sink", "null:", "--batch-size", "0"},
                kUsage, "flag --batch-size: relay.batch_size: 0 is not between");
  ExpectFailure({"relay", "--table", "orders_outbox", "--sink", "null:", "--poll-interval", "30s"},
                kUsage, "more than a third of the lease");
}

TEST_P(CliOnEveryDatabase, RelayDrainFailsInTimeWhenTheSinkStaysAway) {
  MigrateUp();
  Enqueue();
  ExpectFailure({"relay", "--table", "orders_outbox", "--sink", "file:/dev/full", "--drain",
                 "--timeout", "10s"},
                kFailed, "1 message is left in " + Named("orders_outbox") + ": ",
                "outboxd sink test");
  EXPECT_EQ(Stats().at("pending"), 1);
}

TEST_P(CliOnEveryDatabase, RelayDrainTellsThatItsTableIsPaused) {
  MigrateUp();
  Enqueue();
  Ok({"pause", "--table", "orders_outbox", "--reason", "stock-taking"});
  ExpectFailure(
      {"relay", "--table", "orders_outbox", "--sink", "null:", "--drain", "--timeout", "10s"},
      kFailed, "1 message is left in " + Named("orders_outbox") + ": it is paused by ",
      "outboxd resume --table " + Named("orders_outbox"));
}

TEST_F(CliTest, RelayDrainTellsWhatTheDatabaseSaidLast) {
  MigrateUp();
  Enqueue();
  Sql("CREATE TRIGGER closed BEFORE UPDATE OF processed_at ON orders_outbox "
      "BEGIN SELECT RAISE(ABORT, 'the books are closed'); END");
  const Finished finished = Outboxd(
      {"relay", "--table", "orders_outbox", "--sink", "null:", "--drain", "--timeout", "10s"});
  EXPECT_EQ(finished.exit_code, kFailed);
  EXPECT_THAT(finished.standard_error,
              AllOf(HasSubstr("\noutboxd: 1 message is left in orders_outbox: "),
                    HasSubstr("the books are closed"), Not(HasSubstr("sink test"))));
}

TEST_F(CliTest, RelayOffersOnlyFlagsThatHaveAnEffect) {
  const std::string help = Ok({"relay", "--help"});
  EXPECT_THAT(help, AllOf(HasSubstr("--batch-size"), HasSubstr("[500]")));
  for (const char* flag : {"--unrouted", "--completion", "--dead-retention", "--audit-retention"}) {
    EXPECT_THAT(help, Not(HasSubstr(flag)));
  }
}

TEST_P(CliOnEveryDatabase, RelayEndsWhenNobodyReadsItsOutput) {
  MigrateUp();
  Enqueue();
  const Finished finished = Process::Run(
      {"bash", "-c",
       base::StrCat("{ '", OUTBOXD_PATH, "' relay --db ", scratch_->url(),
                    " --table orders_outbox --sink stdout:; echo code=$? >&2; } | head -n 1")});
  EXPECT_THAT(finished.standard_output, HasSubstr(kTopic));
  EXPECT_THAT(finished.standard_error, HasSubstr("code=1"));
}

// --- serve ---

TEST_P(CliOnEveryDatabase, ServeDeliversUntilItIsTerminated) {
  MigrateUp();
  Enqueue();
  const std::string output = File("out.jsonl");
  std::ofstream(File("outboxd.toml"))
      << "database = \"" << scratch_->url() << "\"\n[log]\nformat = \"json\"\n[[table]]\n"
      << "name = \"orders_outbox\"\nsink = \"file:" << output
      << "\"\n[cleaner]\ninterval = \"100ms\"\n";
  auto serve = Process::Start({OUTBOXD_PATH, "serve", "--config", File("outboxd.toml")});
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (Read(output).empty() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_THAT(Read(output), HasSubstr(kTopic));
  serve->Signal(SIGHUP);
  EXPECT_TRUE(WaitFor([&] {
    return serve->Errors().find("TLS files read again") != std::string::npos;
  })) << serve->Errors();
  serve->Signal(SIGTERM);
  EXPECT_EQ(serve->Wait(std::chrono::seconds(30)), 0) << serve->Errors();
  EXPECT_THAT(serve->Errors(), HasSubstr("\"delivered\":1"));
  EXPECT_EQ(Stats().at("processing"), 0);
}

TEST_F(CliTest, ServeListsEveryMistakeOfItsFile) {
  std::ofstream(File("bad.toml")) << "[relay]\nbatch_sise = 1\nlease = \"x\"\n";
  const Finished finished = Outboxd({"serve", "--config", File("bad.toml")});
  EXPECT_EQ(finished.exit_code, kUsage);
  EXPECT_THAT(finished.standard_error, HasSubstr("bad.toml:2: relay.batch_sise: unknown key"));
  EXPECT_THAT(finished.standard_error, HasSubstr("bad.toml:3: relay.lease: 'x' is not a duration"));
  ExpectFailure({"serve", "--config", File("none.toml")}, kUsage, "No such file");
}

// --- config ---

TEST_F(CliTest, ConfigPrintsValuesAndTheirOrigins) {
  const Finished finished =
      Outboxd({"config", "--profile", "toolkit"}, "",
              {{"OUTBOX_DB", "postgres://u:hunter2@h/d"}, {"OUTBOX_RELAY_WINDOW", "300"}});
  EXPECT_EQ(finished.exit_code, 0) << finished.standard_error;
  EXPECT_THAT(finished.standard_output,
              HasSubstr("database\tpostgres://u:***@h/d\tenvironment OUTBOX_DB"));
  EXPECT_THAT(finished.standard_output, HasSubstr("relay.batch_size\t100\tprofile toolkit"));
  EXPECT_THAT(finished.standard_output,
              HasSubstr("relay.window\t300\tenvironment OUTBOX_RELAY_WINDOW"));
  EXPECT_THAT(finished.standard_output, HasSubstr("relay.listen\tfalse\tdefault"));
  EXPECT_THAT(finished.standard_output, Not(HasSubstr("hunter2")));
  ExpectFailure({"config", "--profile", "toolkti"}, kUsage, "did you mean 'toolkit'?");
}

TEST_F(CliTest, ConfigPrintsRoutesAndWhatASinkHasOfItsOwn) {
  std::ofstream(File("routes.toml")) << "[[sink]]\nname = \"mq\"\n"
                                        "address = \"redis://u:hunter2@h?stream=s\"\n"
                                        "max_attempts = 3\n"
                                        "[[route]]\ntable = \"orders_outbox\"\ntopics = \"#\"\n"
                                        "sinks = [\"mq\"]\nordered = true\n";
  const Finished text = Outboxd({"config", "--config", File("routes.toml")});
  EXPECT_EQ(text.exit_code, 0) << text.standard_error;
  EXPECT_THAT(text.standard_output,
              AllOf(HasSubstr("orders_outbox route\t# → mq (ordered)"),
                    HasSubstr("orders_outbox/mq max_attempts\t3\t"), Not(HasSubstr("hunter2"))));
  const Json json = OkJson({"config", "--config", File("routes.toml")}).at("tables").at(0);
  EXPECT_EQ(json.at("routes").at(0).at("sinks").at(0), "mq");
  EXPECT_EQ(json.at("sinks").at(0).at("name"), "mq");
  EXPECT_THAT(json.dump(), Not(HasSubstr("hunter2")));
}

TEST_F(CliTest, ConfigChecksWhatServeWouldRefuse) {
  std::ofstream(File("sinks.toml"))
      << "database = \"postgres://u@h/d\"\n"
         "[[sink]]\nname = \"mq\"\naddress = \"amqp://u@h?password_env=OUTBOXD_NO_SUCH\"\n"
         "[[sink]]\nname = \"cache\"\naddress = \"redis://h?steam=x\"\n"
         "[[route]]\ntable = \"orders_outbox\"\ntopics = \"#\"\nsinks = [\"mq\", \"cache\"]\n";
  const Finished refused = Outboxd({"config", "--config", File("sinks.toml")});
  EXPECT_EQ(refused.exit_code, kUsage);
  EXPECT_THAT(refused.standard_output, HasSubstr("orders_outbox\tdelivered by routes"));
  EXPECT_THAT(refused.standard_error,
              AllOf(HasSubstr("sinks.toml:4: sink 'mq': "), HasSubstr("has no OUTBOXD_NO_SUCH"),
                    HasSubstr("sinks.toml:7: sink 'cache': "), HasSubstr("'stream'?")));
  std::ofstream(File("none.toml")) << "[[table]]\nname = \"orders_outbox\"\n";
  ExpectFailure({"config", "--config", File("none.toml")}, kUsage, "has no sink");
}

TEST_F(CliTest, ConfigChecksTheDatabaseAndTheFilesOfTheService) {
  const std::pair<std::string, std::string> cases[] = {
      {"OUTBOX_DB", "foo:bar"},
      {"OUTBOX_DB", "host=h passwort=hunter2"},
      {"OUTBOX_SERVICE_CORS_ORIGINS", "foo"},
      {"OUTBOX_SERVICE_AUTH_SECRET_FILE", File("none")},
      {"OUTBOX_SERVICE_AUTH_SECRET_ENV", "OUTBOXD_NO_SUCH"},
      {"OUTBOX_SERVICE_AUTH_PUBLIC_KEYS", File("none")},
      {"OUTBOX_SERVICE_TLS_CERTIFICATE", File("none")},
  };
  std::map<std::string, std::string> good{{"OUTBOX_RELAY_TABLES", "orders_outbox"},
                                          {"OUTBOX_RELAY_SINK", "null:"},
                                          {"OUTBOX_SERVICE_LISTEN", "127.0.0.1:0"}};
  auto without_keys = good;
  without_keys["OUTBOX_SERVICE_AUTH_NONE"] = "true";
  EXPECT_EQ(Outboxd({"config"}, "", without_keys).exit_code, 0);
  for (const auto& [name, value] : cases) {
    auto environment = name.find("AUTH_") == std::string::npos ? without_keys : good;
    environment[name] = value;
    if (name.ends_with("CERTIFICATE")) environment["OUTBOX_SERVICE_TLS_KEY"] = value;
    const Finished refused = Outboxd({"config"}, "", environment);
    EXPECT_EQ(refused.exit_code, kUsage) << name << "=" << value << refused.standard_error;
    EXPECT_THAT(refused.standard_output + refused.standard_error, Not(HasSubstr("hunter2")));
  }
}

TEST_F(CliTest, ConfigShowsNoSecrets) {
  const Finished finished =
      Outboxd({"config"}, "",
              {{"OUTBOX_RELAY_SINK",
                "https://h/x?outbox.bearer=hunter2&outbox.header.x-auth=hunter3&sig=hunter4"}});
  EXPECT_THAT(finished.standard_output,
              AllOf(HasSubstr("outbox.bearer=***"), Not(HasSubstr("hunter"))));
}

// --- sinks ---

TEST_F(CliTest, SinkTestTellsEachStepAndTheFirstThatFails) {
  EXPECT_THAT(
      Ok({"sink", "test", "file:" + File("out.jsonl")}),
      AllOf(HasSubstr("ok      open"), HasSubstr("ok      publish"), HasSubstr("ok      confirm")));
  EXPECT_THAT(Read(File("out.jsonl")), HasSubstr("x-outboxd-test"));
  const Json steps = OkJson({"sink", "test", "null:"});
  EXPECT_EQ(steps.at("ok"), true);
  EXPECT_EQ(steps.at("steps").size(), 2u);

  const Finished away =
      Outboxd({"sink", "test", "redis://u:hunter2@127.0.0.1:1?stream=s", "--timeout", "30s"});
  EXPECT_EQ(away.exit_code, kFailed);
  EXPECT_THAT(away.standard_output, AllOf(HasSubstr("resolve"), HasSubstr("FAILED  connect")));
  EXPECT_THAT(away.standard_output + away.standard_error, Not(HasSubstr("hunter2")));
  ExpectFailure({"sink", "test", "gopher://x"}, kUsage, "unknown sink scheme", "known sinks");
  ExpectFailure({"sink", "test", "redis://h?strem=x"}, kUsage, "did you mean 'stream'?");
  ExpectFailure({"sink", "test", "null:", "--timeout", "soon"}, kUsage,
                "--timeout: 'soon' is not a duration");
}

TEST_F(CliTest, SinkTestAsksBeforeItWritesToAFileOfSomebodyElse) {
  const std::string notes = "dear diary\n";
  std::ofstream(File("notes.txt")) << notes;
  const std::string uri = "file:" + File("notes.txt");
  ExpectFailure({"sink", "test", uri}, kUsage, "would append a test message to", "--yes");
  EXPECT_EQ(Read(File("notes.txt")), notes);
  Ok({"sink", "test", uri, "--yes"});
  EXPECT_THAT(Read(File("notes.txt")), AllOf(HasSubstr(notes), HasSubstr("x-outboxd-test")));
  // Its last line is of a sink now. So is that of a new file, and an empty one has none.
  Ok({"sink", "test", uri});
  std::ofstream(File("empty.jsonl")).flush();
  Ok({"sink", "test", "file:" + File("empty.jsonl")});
}

TEST_F(CliTest, SinkTestTellsWhichStepRefusesARequest) {
  int status = 401;
  const auto server =
      HttpServer::Start({.handler = [&](const auto&) { return HttpServer::Reply{status}; }});
  ASSERT_NE(server, nullptr);
  const std::string uri = server->url() + "/hook?outbox.allow=127.0.0.0/8";
  for (const int refusal : {401, 407}) {
    status = refusal;
    const Finished refused = Outboxd({"sink", "test", uri});
    EXPECT_EQ(refused.exit_code, kFailed);
    EXPECT_THAT(refused.standard_output,
                AllOf(HasSubstr("ok      connect"), HasSubstr("ok      publish"),
                      HasSubstr("FAILED  auth"), Not(HasSubstr("confirm"))));
  }
  status = 500;
  EXPECT_THAT(Outboxd({"sink", "test", uri}).standard_output, HasSubstr("FAILED  confirm"));
}

TEST_F(CliTest, SinkTestNeedsOneOfSeveralServers) {
  // One is away, the other hangs up.
  const Listener server;
  std::thread hangs_up([&] {
    for (int connection; (connection = server.Accept()) >= 0;) close(connection);
  });
  const std::string port = std::to_string(server.port());
  const Finished away = Outboxd(
      {"sink", "test", "redis://127.0.0.1:1,127.0.0.1:" + port + "?stream=s", "--timeout", "30s"});
  server.Shutdown();
  hangs_up.join();
  EXPECT_THAT(away.standard_output,
              AllOf(HasSubstr("away    connect"), HasSubstr("127.0.0.1:1: Connection refused"),
                    HasSubstr("127.0.0.1:" + port + ": 127.0.0.1"), HasSubstr("FAILED  auth")));
  EXPECT_THAT(
      Outboxd({"sink", "test", "redis://127.0.0.1:1?stream=s", "--timeout", "30s"}).standard_error,
      HasSubstr("hint: is the server up"));
}

TEST_F(CliTest, SinkTestTellsHowAWebhookIsReached) {
  const Certificate certificate = MakeCertificate("IP:127.0.0.1");
  std::ofstream(File("ca.pem")) << certificate.certificate;
  const auto server = HttpServer::Start({.certificate = certificate});
  ASSERT_NE(server, nullptr);
  const std::string uri = server->url() + "/hook?outbox.allow=127.0.0.0/8";
  const std::string trusted = uri + "&outbox.tls_ca=" + File("ca.pem");
  EXPECT_THAT(
      Ok({"sink", "test", trusted}),
      AllOf(HasSubstr("ok      resolve"), HasSubstr("ok      connect"), HasSubstr("ok      tls"),
            HasSubstr("TLSv1."), HasSubstr("ok      publish"), HasSubstr("ok      confirm")));
  std::string steps;
  const Json told = OkJson({"sink", "test", trusted});
  for (const Json& step : told.at("steps")) {
    steps += step.at("step").get<std::string>() + " ";
  }
  EXPECT_EQ(steps, "resolve connect tls publish confirm ");
  EXPECT_EQ(server->requests().size(), 2u);

  const Finished unknown = Outboxd({"sink", "test", uri});
  EXPECT_EQ(unknown.exit_code, kFailed);
  EXPECT_THAT(unknown.standard_output, AllOf(HasSubstr("FAILED  tls"), Not(HasSubstr("confirm"))));
  EXPECT_THAT(unknown.standard_error, HasSubstr("outbox.tls_ca"));

  Terminal terminal({OUTBOXD_PATH, "sink", "test", trusted}, 80);
  EXPECT_EQ(terminal.Wait(), 0);
  const std::regex colours("\x1b\\[[0-9;]*m");
  for (const std::string& line : base::Split(terminal.screen(), '\n')) {
    const std::string text = std::regex_replace(std::string(base::Trim(line)), colours, "");
    EXPECT_LE(cli::DisplayWidth(text), 80u) << text;
  }
}

TEST_F(CliTest, SinkTestGoesNowhereThatTheGuardRefuses) {
  const auto server = HttpServer::Start({});
  ASSERT_NE(server, nullptr);
  const Finished refused = Outboxd({"sink", "test", server->url()});
  EXPECT_EQ(refused.exit_code, kFailed);
  EXPECT_THAT(refused.standard_output, HasSubstr("FAILED  connect"));
  EXPECT_THAT(refused.standard_error, HasSubstr("address not allowed"));
  EXPECT_EQ(server->connections(), 0u);
}

TEST_F(CliTest, SinkTestSaysWhichSchemeAPortIsFor) {
  const auto secure = HttpServer::Start({.certificate = MakeCertificate("IP:127.0.0.1")});
  ASSERT_NE(secure, nullptr);
  const Chatterbox plain("HTTP/1.1 400 Bad Request\r\n\r\n");
  const std::string secure_at = base::StrCat("127.0.0.1:", secure->port());
  const std::string plain_at = base::StrCat("127.0.0.1:", plain.port());
  const std::string allow = "/?outbox.allow=127.0.0.0/8";
  for (const auto& [uri, hint] : std::map<std::string, std::string>{
           {"http://" + secure_at + allow, secure_at + " speaks TLS: write https:"},
           {"redis://u:hunter2@" + secure_at, secure_at + " speaks TLS: write rediss:"},
           {"amqp://u:hunter2@" + secure_at + "/?exchange=x",
            secure_at + " speaks TLS: write amqps:"},
           {"kafka://" + secure_at, secure_at + " speaks TLS: add tls=true"},
           {"https://" + plain_at + allow, "does not speak TLS at this port: write http:"}}) {
    // It looks for TLS for some seconds only, which a busy machine may need for itself.
    Finished finished;
    EXPECT_TRUE(WaitFor([&] {
      finished = Outboxd({"sink", "test", uri, "--timeout", "30s"});
      EXPECT_EQ(finished.exit_code, kFailed) << uri;
      EXPECT_THAT(finished.standard_output + finished.standard_error, Not(HasSubstr("hunter2")));
      const std::size_t hinted = finished.standard_error.find("hint: ");
      return hinted != std::string::npos &&
             finished.standard_error.find(hint, hinted) != std::string::npos;
    })) << uri
        << ": " << finished.standard_error;
  }
}

TEST_F(CliTest, SinkTestSaysWhatIsWrongWithASecret) {
  ExpectFailure({"sink", "test", "https://h/x?outbox.secret=abc"}, kUsage,
                "outbox.secret: does not begin with whsec_");
  ExpectFailure({"sink", "test", "stdout:", "--json"}, kUsage, "standard output");
  ExpectFailure({"sink", "test", "null:", "--timeout", "0s"}, kUsage, "leaves no time");
}

// --- looking ---

TEST_P(CliOnEveryDatabase, ListsTheBacklogPageByPage) {
  MigrateUp();
  for (int i = 0; i < 3; ++i) Enqueue();
  const Json first = OkJson({"list", "--limit", "2"});
  EXPECT_EQ(first.at("messages").size(), 2u);
  EXPECT_FALSE(first.at("messages").at(0).contains("payload"));
  const std::string next = first.at("next");
  const Json second = OkJson({"list", "--limit", "2", "--after", next});
  EXPECT_EQ(second.at("messages").size(), 1u);
  EXPECT_THAT(Ok({"list"}), AllOf(StartsWith("SEQ\tID\tSTATUS"), HasSubstr("pending")));
  EXPECT_EQ(OkJson({"list", "--status", "dead"}).at("messages").size(), 0u);
  ExpectFailure({"list", "--status", "lost"}, kUsage, "lost");
  ExpectFailure({"list", "--tenant", "x"}, kUsage, "'x' is not a UUID");
}

TEST_P(CliOnEveryDatabase, ListsByErrorTimeAndFailedState) {
  MigrateUp();
  const std::string dead = Enqueue();
  Kill(dead);
  const std::string error = OkJson({"show", dead}).at("last_error");
  Enqueue();
  const auto count = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), "list");
    return OkJson(flags).at("messages").size();
  };
  EXPECT_EQ(count({}), 2u);
  EXPECT_EQ(count({"--error", error.substr(0, 5)}), 1u);
  EXPECT_EQ(count({"--error", "no such text"}), 0u);
  EXPECT_EQ(count({"--since", "1h"}), 2u);
  EXPECT_EQ(count({"--until", "1h"}), 0u);
  EXPECT_EQ(count({"--since", "2126-01-05T00:00:00Z"}), 0u);
  EXPECT_EQ(count({"--status", "failed"}), 0u);
  ExpectFailure({"list", "--since", "yesterday"}, kUsage, "--since: 'yesterday' is not a time",
                "2h");
  ExpectFailure({"list", "--status", "all"}, kUsage, "of a tenant");
  EXPECT_EQ(count({"--status", "all", "--tenant", "0190b5c0-0000-7000-8000-00000000000a"}), 0u);
  const std::vector<std::string> all_failed{"retry", "--table", "orders_outbox", "--all-failed",
                                            "--yes"};
  EXPECT_EQ(OkJson(all_failed).at("changed"), 0);
  ExpectFailure({"retry", "--table", "orders_outbox", dead, "--error", "x", "--yes"}, kUsage,
                "--error: goes with --all-dead or --all-failed");
}

TEST_P(CliOnEveryDatabase, StatsMarkExactlyTheFiguresThatAreEstimates) {
  MigrateUp();
  std::string lines;
  for (int i = 0; i < 12'000; ++i) {
    lines += base::StrCat(R"({"topic":")", kTopic, R"(","payload":{}})", "\n");
  }
  Ok({"enqueue", "--table", "orders_outbox"}, lines);
  const Json stats = Stats();
  EXPECT_EQ(stats.at("estimated"), Json({"pending", "due", "retrying", "processing", "stale"}));
  EXPECT_NEAR(stats.at("pending").get<double>(), 12'000, 1'200);
  const std::string figures = Ok({"stats"});
  EXPECT_TRUE(std::regex_search(
      figures, std::regex("\t~1[0-9],[0-9]{3}\t~1[0-9],[0-9]{3}\t~0\t~0\t~0\t0\t0\t")))
      << figures;
  EXPECT_THAT(Ok({"stats", "--exact"}), HasSubstr("\t12,000\t12,000\t0\t0\t0\t0\t0\t"));
}

TEST_P(CliOnEveryDatabase, ListAsksWhichOfSeveralTables) {
  MigrateUp("a_outbox");
  MigrateUp("b_outbox");
  ExpectFailure({"list"}, kUsage, "there are 2 outbox tables", "a_outbox");
  EXPECT_EQ(OkJson({"stats"}).at("tables").size(), 2u);
}

TEST_P(CliOnEveryDatabase, ShowsOneMessage) {
  MigrateUp();
  const std::string id = Enqueue();
  EXPECT_THAT(Ok({"show", id}), AllOf(HasSubstr(id), HasSubstr("pending"), HasSubstr("payload")));
  ExpectFailure({"show", "00000000-0000-7000-8000-000000000000"}, kFailed, "no message");
  ExpectFailure({"show", "seven"}, kUsage, "'seven' is not a message id");
}

TEST_P(CliOnEveryDatabase, NoTextOfAMessageReachesTheTerminalAsACommand) {
  MigrateUp();
  const std::string id =
      OkJson({"enqueue", "--table", "orders_outbox", "--topic", kTopic, "--payload",
              "{\n\t\"n\": 1}", "--key", "\x1b[31mRED", "--aggregate-id",
              "\xC2\x9b"
              "2J",
              "--header", "h=\x1b]0;x\x07"})
          .at("id");
  Sql(std::string("UPDATE orders_outbox SET last_error = 'a' || ") + Pick("chr(27)", "char(27)") +
      " || '[2Jb'");
  Ok({"pause", "--table", "orders_outbox", "--reason", "\x1b[31mred"});
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"show", id}, {"list"}, {"relays"}}) {
    const Finished finished = Outboxd(command);
    EXPECT_EQ(finished.exit_code, 0) << finished.standard_error;
    const std::string text = finished.standard_output + finished.standard_error;
    EXPECT_THAT(text,
                AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\x07")), Not(HasSubstr("\xC2\x9b"))));
  }
  EXPECT_THAT(Ok({"show", id}),
              AllOf(HasSubstr("key             [31mRED\n"), HasSubstr("last_error     a [2Jb\n"),
                    HasSubstr("payload        {\n\t\"n\": 1}\n")));
  EXPECT_EQ(OkJson({"show", id}).at("key"), "\x1b[31mRED");
}

TEST_P(CliOnEveryDatabase, ATableThatIsGoneHidesNoOther) {
  MigrateUp();
  MigrateUp("other_outbox");
  const std::string id = Enqueue();
  const std::string gone = Named("a_outbox");
  MigrateUp("a_outbox");
  Sql("ALTER TABLE a_outbox RENAME TO kept");
  const Json tables = OkJson({"stats"}).at("tables");
  ASSERT_EQ(tables.size(), 3u);
  EXPECT_EQ(tables.at(0), Json({{"table", gone}, {"exists", false}}));
  EXPECT_EQ(tables.at(1).at("pending"), 1);
  EXPECT_THAT(Ok({"stats"}),
              AllOf(HasSubstr(gone + "\tabsent\t"), HasSubstr("orders_outbox\t1\t")));
  EXPECT_THAT(Ok({"show", id}), HasSubstr(id));
  ExpectFailure({"stats", "--table", "a_outbox"}, kFailed, "does not exist");
}

TEST_P(CliOnEveryDatabase, ADeadMessageIsNotDue) {
  MigrateUp();
  const std::string id = Enqueue();
  EXPECT_THAT(Ok({"show", id}), HasSubstr("available_at"));
  EXPECT_TRUE(OkJson({"show", id}).contains("available_at"));
  Kill(id);
  EXPECT_THAT(Ok({"show", id}), AllOf(HasSubstr("dead"), Not(HasSubstr("available_at"))));
  EXPECT_FALSE(OkJson({"show", id}).contains("available_at"));
  EXPECT_FALSE(OkJson({"list"}).at("messages").at(0).contains("available_at"));
}

TEST_P(CliOnEveryDatabase, TablesFitTheTerminal) {
  MigrateUp();
  Ok({"enqueue", "--table", "orders_outbox", "--topic", kTopic, "--payload", "{}", "--key",
      "世界世界世界"});
  const std::string id = Enqueue();
  Kill(id);
  for (const int columns : {60, 80, 120}) {
    for (const char* command : {"list", "stats", "relays"}) {
      Terminal terminal({OUTBOXD_PATH, command, "--db", scratch_->url()}, columns);
      EXPECT_EQ(terminal.Wait(), 0) << terminal.screen();
      const std::string text =
          std::regex_replace(terminal.screen(), std::regex("\x1b\\[[0-9]*m|\r"), "");
      for (const std::string& line : base::Split(text, '\n')) {
        EXPECT_LE(static_cast<int>(cli::DisplayWidth(line)), columns) << line;
      }
      if (command == std::string("list")) {
        EXPECT_THAT(text, HasSubstr(id)) << "to be copied";
      }
    }
  }
}

TEST_P(CliOnEveryDatabase, PipesHaveAHeaderEvenOfNothing) {
  MigrateUp();
  EXPECT_THAT(Ok({"list"}), StartsWith("SEQ\tID\t"));
  EXPECT_THAT(Ok({"relays"}), StartsWith("TABLE\tSINK\t"));
}

// --- repairing ---

TEST_P(CliOnEveryDatabase, RetriesDeadMessagesOnlyWhenToldSo) {
  MigrateUp();
  const std::string id = Enqueue();
  Kill(id);
  ExpectFailure({"retry", "--table", "orders_outbox", id}, kUsage, "would retry 1 message",
                "--yes");
  EXPECT_EQ(Stats().at("dead"), 1);
  EXPECT_THAT(Ok({"retry", "--table", "orders_outbox", id, "--dry-run"}),
              HasSubstr("1 message of " + Named("orders_outbox") + " would be set to pending"));
  EXPECT_EQ(Stats().at("dead"), 1);
  EXPECT_THAT(Ok({"retry", "--table", "orders_outbox", id, "--yes"}), HasSubstr("1 message"));
  EXPECT_EQ(Stats().at("dead"), 0);
  EXPECT_EQ(OkJson({"show", id}).at("attempts"), 0);
}

TEST_P(CliOnEveryDatabase, RetryAsksOnATerminalAndTakesNoForAnAnswer) {
  MigrateUp();
  const std::string id = Enqueue();
  Kill(id);
  const std::vector<std::string> retry{OUTBOXD_PATH, "retry",         "--db", scratch_->url(),
                                       "--table",    "orders_outbox", id};
  for (const char* no : {"n\n", "\n", "maybe\n"}) {
    Terminal terminal(retry);
    ASSERT_TRUE(terminal.WaitFor("[y/N]")) << terminal.screen();
    terminal.Type(no);
    EXPECT_EQ(terminal.Wait(), kFailed);
    EXPECT_THAT(terminal.screen(), AllOf(HasSubstr(id), HasSubstr("nothing was changed")));
    EXPECT_EQ(Stats().at("dead"), 1) << no;
  }
  Terminal terminal(retry);
  ASSERT_TRUE(terminal.WaitFor("[y/N]")) << terminal.screen();
  terminal.Type("y\n");
  EXPECT_EQ(terminal.Wait(), 0) << terminal.screen();
  EXPECT_EQ(Stats().at("dead"), 0);
}

TEST_P(CliOnEveryDatabase, DeleteAsksOnATerminal) {
  MigrateUp();
  const std::string id = Enqueue();
  const std::vector<std::string> command{OUTBOXD_PATH, "delete",        "--db", scratch_->url(),
                                         "--table",    "orders_outbox", id};
  for (const auto& [answer, left] : {std::pair{"n\n", 1}, std::pair{"yes\n", 0}}) {
    Terminal terminal(command);
    ASSERT_TRUE(terminal.WaitFor("[y/N]")) << terminal.screen();
    terminal.Type(answer);
    terminal.Wait();
    EXPECT_EQ(Stats().at("pending"), left) << terminal.screen();
  }
}

TEST_P(CliOnEveryDatabase, RetriesAllDeadOfATopic) {
  MigrateUp();
  Kill(Enqueue());
  EXPECT_EQ(
      OkJson({"retry", "--table", "orders_outbox", "--all-dead", "--topic", "a.b.c.v1", "--yes"})
          .at("changed"),
      0);
  EXPECT_EQ(OkJson({"retry", "--table", "orders_outbox", "--all-dead", "--topic", kTopic, "--yes"})
                .at("changed"),
            1);
}

TEST_P(CliOnEveryDatabase, DeletesAfterAskingAndLeavesDeliveredOnesAlone) {
  MigrateUp();
  const std::string delivered = Enqueue();
  Ok({"relay", "--table", "orders_outbox", "--sink", "null:", "--drain"});
  ExpectFailure({"delete", "--table", "orders_outbox", delivered, "--yes"}, kFailed,
                "none of these messages");
  const std::string pending = Enqueue();
  EXPECT_EQ(OkJson({"delete", "--table", "orders_outbox", pending, "--yes"}).at("changed"), 1);
  EXPECT_EQ(Stats().at("pending"), 0);
}

TEST_P(CliOnEveryDatabase, RepairsWantExplicitTargets) {
  MigrateUp();
  ExpectFailure({"retry", "--table", "orders_outbox", "--yes"}, kUsage, "say which messages");
  ExpectFailure({"retry", "--all-dead", "--yes"}, kUsage, "--table");
  ExpectFailure({"delete", "--table", "orders_outbox", "nonsense", "--yes"}, kUsage,
                "'nonsense' is not a message id");
}

TEST_F(CliTest, RepairsRefuseADatabaseElsewhere) {
  ExpectFailure({"delete", "--db", "postgres://db.example.invalid/x", "--table", "orders_outbox",
                 "--all-dead", "--yes"},
                kFailed, "is not on this machine", "--allow-remote");
}

}  // namespace
}  // namespace outbox::testing
