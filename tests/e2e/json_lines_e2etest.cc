// What programs read: the JSON of every command, and the JSON lines of those that list.
//
// The commands are read from the program's own help: one that is new has to be added here.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/text.h"
#include "tests/e2e/support/commands.h"
#include "tests/e2e/support/dialects.h"
#include "tests/e2e/support/scratch_database.h"
#include "tests/e2e/support/sql.h"
#include "tests/support/process.h"
#include "tests/support/temp_folder.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using base::StrCat;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;
using Variables = std::map<std::string, std::string>;

std::vector<Json> ParseLines(const std::string& output) {
  EXPECT_TRUE(output.empty() || output.ends_with('\n'));
  std::vector<Json> lines;
  for (const std::string& line : base::Split(output, '\n')) {
    if (line.empty()) continue;
    lines.push_back(Json::parse(line, nullptr, false));
    EXPECT_TRUE(lines.back().is_object()) << line;
  }
  return lines;
}

std::set<std::string> MembersOf(const Json& object) {
  std::set<std::string> names;
  for (const auto& [name, value] : object.items()) names.insert(name);
  return names;
}

// The most memory that a program had, in kilobytes; none, and a failure, when it failed. Its output
// goes to a file.
std::optional<long> PeakOf(Words command, const std::string& output) {
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    // What the sanitizers keep of freed memory is not the program's.
    const char* options = std::getenv("ASAN_OPTIONS");
    setenv("ASAN_OPTIONS",
           StrCat(options == nullptr ? "" : options, ":quarantine_size_mb=1").c_str(), 1);
    const int fd = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(fd, STDOUT_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  rusage used{};
  EXPECT_EQ(wait4(pid, &status, 0, &used), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? std::optional(used.ru_maxrss)
                                                       : std::nullopt;
}

class JsonLines : public OnDialect {
 protected:
  void SetUp() override {
    if (GetParam() == Dialect::kPostgres) OUTBOX_REQUIRE_POSTGRES();
    scratch_ = ScratchDatabase::Make(GetParam());
    ASSERT_NE(scratch_, nullptr);
    ASSERT_EQ(
        Run({"migrate", "up", "--table", "orders_outbox", "--table", "mails_outbox"}).exit_code, 0);
  }
  Finished Run(const Words& arguments) const {
    return RunOutboxd(arguments, {{"OUTBOX_DB", scratch_->url()}});
  }
  std::string Ok(const Words& arguments) const {
    const Finished finished = Run(arguments);
    EXPECT_EQ(finished.exit_code, 0) << base::Join(arguments, " ") << "\n"
                                     << finished.standard_error;
    return finished.standard_output;
  }
  // Messages with ids that count up.
  void Fill(int count) const {
    const auto sql = SqlConnection::Open(scratch_->url());
    ASSERT_NE(sql, nullptr);
    const bool postgres = GetParam() == Dialect::kPostgres;
    const std::string text =
        postgres
            ? StrCat(
                  "INSERT INTO orders_outbox (id, topic, payload) SELECT "
                  "('01890000-0000-7000-8000-' "
                  "|| lpad(n::text, 12, '0'))::uuid, 'a.b.c.v1', '{}' FROM generate_series(1, ",
                  count, ") n")
            : StrCat("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ",
                     count,
                     ") INSERT INTO orders_outbox (id, topic, payload) SELECT "
                     "'01890000-0000-7000-8000-' || printf('%012d', i), 'a.b.c.v1', '{}' FROM n");
    ASSERT_TRUE(sql->Execute(text)) << sql->error();
  }

  std::unique_ptr<ScratchDatabase> scratch_;
};
OUTBOX_ON_EVERY_DIALECT(JsonLines);

TEST_P(JsonLines, AreTheElementsOfTheList) {
  Fill(7);
  const std::string log = scratch_->folder() + "/relay.jsonl";
  const auto relay = Process::Start({OUTBOXD_PATH, "relay", "--db", scratch_->url(), "--table",
                                     "mails_outbox", "--sink", "file:" + log});
  ASSERT_TRUE(WaitFor([&] {
    const Json relays = Json::parse(Ok({"relays", "--json"}));
    return relays.at("relays").size() == 1 && relays.at("relays").at(0).at("state") != "gone";
  })) << relay->Errors();
  const std::vector<std::pair<Words, std::string>> streams{
      {{"list", "--table", "orders_outbox"}, "messages"},
      {{"stats"}, "tables"},
      {{"relays"}, "relays"},
      {{"migrate", "status"}, "tables"},
      {{"sink", "test", "null:"}, "steps"}};
  for (const auto& [command, member] : streams) {
    SCOPED_TRACE(base::Join(command, " "));
    const Json whole = Json::parse(Ok(command + Words{"--json"}));
    const std::vector<Json> lines = ParseLines(Ok(command + Words{"--jsonl"}));
    const Json& items = whole.at(member);
    ASSERT_EQ(lines.size(), items.size());
    ASSERT_FALSE(lines.empty());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      EXPECT_EQ(MembersOf(lines[i]), MembersOf(items[i]));
      for (const char* name : {"id", "table", "step"}) {
        EXPECT_EQ(lines[i].value(name, ""), items[i].value(name, ""));
      }
    }
  }
}

TEST_P(JsonLines, OfAListAreAllOrAsManyAsAskedFor) {
  Fill(2500);  // more than two pages
  std::set<std::string> ids;
  for (const Json& line : ParseLines(Ok({"list", "--table", "orders_outbox", "--jsonl"}))) {
    ids.insert(line.at("id"));
  }
  EXPECT_EQ(ids.size(), 2500u);

  const Finished limited = Run({"list", "--table", "orders_outbox", "--jsonl", "--limit", "1200"});
  const std::vector<Json> first = ParseLines(limited.standard_output);
  ASSERT_EQ(first.size(), 1200u);
  const std::string mark = "more: --after ";
  ASSERT_THAT(limited.standard_error, StartsWith(mark));
  const std::string after =
      std::string(base::Trim(std::string_view(limited.standard_error).substr(mark.size())));
  for (const Json& line :
       ParseLines(Ok({"list", "--table", "orders_outbox", "--jsonl", "--after", after}))) {
    ids.erase(line.at("id").get<std::string>());
  }
  EXPECT_EQ(ids.size(), 1200u);
  for (const Json& line : first) EXPECT_EQ(ids.erase(line.at("id").get<std::string>()), 1u);
}

TEST_P(JsonLines, EndQuietlyWhenNobodyReadsOn) {
  Fill(20'000);
  const Finished finished = Process::Run(
      {"bash", "-c",
       StrCat("{ '", OUTBOXD_PATH, "' list --db '", scratch_->url(),
              "' --table orders_outbox --jsonl; echo \"code=$?\" >&2; } | head -n 1")});
  EXPECT_EQ(ParseLines(finished.standard_output).size(), 1u);
  EXPECT_EQ(finished.standard_error, "code=0\n");
}

TEST_P(JsonLines, OfAHundredThousandMessagesTakeNoMemory) {
  Fill(100'000);
  const std::string output = scratch_->folder() + "/lines.jsonl";
  const auto peak = [&](const char* limit) {
    Words command{OUTBOXD_PATH, "list",          "--db",   scratch_->url(),
                  "--table",    "orders_outbox", "--jsonl"};
    if (*limit != '\0') command = command + Words{"--limit", limit};
    return PeakOf(command, output);
  };
  const auto few = peak("2000");
  const auto all = peak("");
  ASSERT_TRUE(few && all);
  std::ifstream lines(output);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
  }
  EXPECT_EQ(count, 100'000);
  const auto bytes = static_cast<long>(std::filesystem::file_size(output));
  EXPECT_LT(*all - *few, bytes / 1024 / 2) << "all of it is " << bytes << " bytes";
}

TEST(JsonOfCommands, LinesAreRefusedWhereThereIsNoList) {
  const Words streams{"stats", "list", "relays", "migrate status", "sink test"};
  for (const Words& command : AllCommands()) {
    const std::string name = base::Join(command, " ");
    SCOPED_TRACE(name);
    const bool stream = std::ranges::find(streams, name) != streams.end();
    EXPECT_EQ(HelpOf(command).find("--jsonl") != std::string::npos, stream);
    if (stream) {
      Words arguments{"--json", "--jsonl"};
      if (name == "sink test") arguments.emplace_back("null:");
      const Finished both = RunOutboxd(command + arguments, {});
      EXPECT_EQ(both.exit_code, 2);
      EXPECT_THAT(both.standard_error, AllOf(HasSubstr("--json"), HasSubstr("--jsonl")));
      continue;
    }
    const Finished refused = RunOutboxd(command + Words{"--jsonl"}, {});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.standard_error,
                AllOf(HasSubstr("has no flag --jsonl"), HasSubstr(base::Join(streams, ", "))));
    EXPECT_THAT(refused.standard_output, IsEmpty());
  }
}

// The rule of docs/reference/cli.md, for every command there is.
class JsonOfEveryCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    scratch_ = ScratchDatabase::Make(Dialect::kSqlite);
    ASSERT_NE(scratch_, nullptr);
    ASSERT_EQ(RunOutboxd({"migrate", "up", "--db", scratch_->url(), "--table", "orders_outbox"}, {})
                  .exit_code,
              0);
    const Finished enqueued =
        RunOutboxd({"enqueue", "--db", scratch_->url(), "--table", "orders_outbox", "--topic",
                    "a.b.c.v1", "--payload", "{}", "--json"},
                   {});
    id_ = Json::parse(enqueued.standard_output).at("id");
  }

  // Arguments with which a command succeeds.
  Words GoodFor(const std::string& name) const {
    const Words table{"--table", "orders_outbox"};
    const std::map<std::string, Words> good{
        {"relay", Words{"--sink", "null:", "--drain"} + table},
        {"enqueue", Words{"--topic", "a.b.c.v1", "--payload", "{}"} + table},
        {"stats", {}},
        {"list", {}},
        {"show", {id_}},
        {"relays", {}},
        {"retry", Words{"--all-dead", "--yes"} + table},
        {"delete", Words{"--all-dead", "--yes"} + table},
        {"pause", table},
        {"resume", table},
        {"migrate up", table},
        {"migrate down", {"--table", "none_outbox", "--yes"}},
        {"migrate status", {}},
        {"migrate print", table},
        {"config", {}},
        {"sink test", {"null:"}},
        {"token", {"--new-secret", scratch_->folder() + "/secret"}},
        {"demo", {"--script"}},
        {"version", {}}};
    const auto found = good.find(name);
    if (found != good.end()) return found->second;
    ADD_FAILURE() << "say here how '" << name << "' succeeds";
    return {};
  }
  // Logs as JSON to standard error, and a report into a file.
  static bool IsExempt(const std::string& name) { return name == "serve" || name == "bench"; }

  std::unique_ptr<ScratchDatabase> scratch_;
  std::string id_;
};

TEST_F(JsonOfEveryCommand, IsOneObjectOnOneLine) {
  for (const Words& command : AllCommands()) {
    const std::string name = base::Join(command, " ");
    SCOPED_TRACE(name);
    if (IsExempt(name)) continue;
    ASSERT_THAT(HelpOf(command), HasSubstr("--json")) << "every command has it";
    const Finished finished =
        RunOutboxd(command + GoodFor(name) + Words{"--json"}, {{"OUTBOX_DB", scratch_->url()}});
    EXPECT_EQ(finished.exit_code, 0) << finished.standard_error;
    EXPECT_EQ(ParseLines(finished.standard_output).size(), 1u) << finished.standard_output;
  }
}

TEST_F(JsonOfEveryCommand, IsNothingWhenNothingWasUnderstood) {
  for (const Words& command : AllCommands()) {
    SCOPED_TRACE(base::Join(command, " "));
    const Words json = IsExempt(command[0]) ? Words{} : Words{"--json"};
    const Finished refused = RunOutboxd(command + json + Words{"--no-such-flag"}, {});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.standard_output, IsEmpty());
    EXPECT_THAT(refused.standard_error,
                AllOf(StartsWith("outboxd: "), HasSubstr("--no-such-flag"), HasSubstr("\nhint: "),
                      HasSubstr(StrCat("outboxd ", base::Join(command, " "), " --help"))));
  }
}

TEST_F(JsonOfEveryCommand, IsNothingWhenTheDatabaseIsNotThere) {
  const Words without{"config", "migrate print", "sink test", "token", "version", "bench"};
  for (const Words& command : AllCommands()) {
    const std::string name = base::Join(command, " ");
    SCOPED_TRACE(name);
    if (std::ranges::find(without, name) != without.end()) continue;
    Words arguments;
    if (name == "serve") {
      arguments = {"--wait-for-db", "0s"};
    } else {
      arguments = GoodFor(name);
    }
    // Nobody listens at port 1 of this machine.
    arguments = arguments + Words{"--db", "postgres://nobody@127.0.0.1:1/none", "--json"};
    const Finished failed =
        RunOutboxd(command + arguments,
                   {{"OUTBOX_RELAY_TABLES", "orders_outbox"}, {"OUTBOX_RELAY_SINK", "null:"}});
    EXPECT_EQ(failed.exit_code, 1) << failed.standard_error;
    EXPECT_THAT(failed.standard_output, IsEmpty());
    EXPECT_THAT(failed.standard_error, HasSubstr("outboxd: "));
    EXPECT_THAT(failed.standard_error, Not(HasSubstr("{\"error\"")));
  }
}

}  // namespace
}  // namespace outbox::testing
