// Texts that would command a terminal, in every place that a command prints: none of them reaches
// one, in no command.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "base/printable.h"
#include "base/text.h"
#include "tests/e2e/support/dialects.h"
#include "tests/e2e/support/terminal.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using base::StrCat;
using Json = nlohmann::json;

// A title, a cleared screen, C1 as a character, overrides, isolates and marks, line ends, a BEL.
constexpr std::string_view kHostile =
    "<\x1b]0;x\x07\x1b[2J\xC2\x9B"
    "5n\xC2\x85\xE2\x80\xAE\xE2\x81\xA6\xE2\x80\x8E\xE2\x80\x8F\xD8\x9C\xE2\x80\xA8\xE2\x80\xA9\x7F"
    ">";
constexpr std::string_view kHostileInJson =
    "\xC2\x9B"
    "5n\xC2\x85\xE2\x80\xAE\xE2\x81\xA6\xE2\x80\x8E\xE2\x80\x8F\xD8\x9C\xE2\x80\xA8\xE2\x80\xA9"
    "\x7F";
constexpr std::string_view kHostileId = "01890a5d-ac96-774b-bcce-b302099a8057";

// What the program itself writes: colours, and the line of a progress bar.
std::string WithoutOwnSequences(const std::string& screen) {
  return std::regex_replace(screen, std::regex("\x1b\\[[0-9;]*m|\x1b\\[K|\r"), "");
}

class TerminalTest : public OnDialect {
 protected:
  void SetUp() override {
    if (GetParam() == Dialect::kPostgres) OUTBOX_REQUIRE_POSTGRES();
    stage_ = Stage::Make(GetParam());
    ASSERT_NE(stage_, nullptr);
    Fill();
  }

  // What a string of SQL may be made of, and not be what it is: bytes that are no UTF-8.
  std::string Sql(std::string_view text) const {
    return StrCat(GetParam() == Dialect::kPostgres ? "E'" : "'", text, "'");
  }
  void Execute(const std::string& sql) {
    ASSERT_TRUE(stage_->sql().Execute(sql)) << sql << "\n" << stage_->sql().error();
  }
  void Fill() {
    const std::string bad = GetParam() == Dialect::kPostgres
                                ? Sql(kHostile)
                                : StrCat("CAST(X'3C9B326A' AS TEXT) || ", Sql(kHostile));
    Execute(StrCat("INSERT INTO ", kTable,
                   " (id, topic, namespace, event_type, aggregate_type, aggregate_id, key, "
                   "dedupe_key, payload, headers, last_error, attempts, locked_by) VALUES ('",
                   kHostileId, "', 'a.b.c.v1', ", Sql(kHostile), ", ", Sql(kHostile), ", ",
                   Sql(kHostile), ", ", Sql(kHostile), ", ", Sql(kHostile), ", ", Sql(kHostile),
                   ", ", Sql(StrCat("{\"payload\":\"", kHostileInJson, "\"}")), ", ",
                   Sql(StrCat("{\"h\":\"", kHostileInJson, "\"}")), ", ", bad, ", 1, ",
                   Sql(kHostile), ")"));
    const bool postgres = GetParam() == Dialect::kPostgres;
    Execute(StrCat("INSERT INTO ", kTable, "_attempt SELECT ", postgres ? "id, " : "", "seq, ",
                   Sql(kHostile), ", 1, ", Sql(kHostile),
                   ", created_at, created_at, 'retry', 'retry', ", bad, " FROM ", kTable));
    const Finished paused =
        stage_->Run({"pause", "--table", std::string(kTable), "--reason", std::string(kHostile)});
    ASSERT_EQ(paused.exit_code, 0) << paused.standard_error;
  }

  // The screen after the command has ended, without what is the program's own.
  std::string Screen(const Flags& command, int* exit_code = nullptr) const {
    Flags words{OUTBOXD_PATH};
    words.insert(words.end(), command.begin(), command.end());
    Terminal terminal(words, 300);
    const int code = terminal.Wait();
    EXPECT_NE(code, -1) << base::Join(command, " ");
    if (exit_code != nullptr) *exit_code = code;
    return WithoutOwnSequences(terminal.screen());
  }
  void ExpectHarmless(const Flags& command) const {
    const std::string screen = Screen(command);
    EXPECT_EQ(base::Harmless(screen, "\n\t"), screen) << base::Join(command, " ");
    EXPECT_FALSE(screen.empty()) << base::Join(command, " ");
  }
  Flags WithDatabase(Flags command) const {
    command.insert(command.end(), {"--db", stage_->url()});
    return command;
  }

  std::unique_ptr<Stage> stage_;
};
OUTBOX_ON_EVERY_DIALECT(TerminalTest);

TEST_P(TerminalTest, NoStoredTextCommandsTheTerminal) {
  const std::string table(kTable);
  const std::string id(kHostileId);
  const std::vector<Flags> commands{
      {"show", id},
      {"list"},
      {"list", "--status", "failed"},
      {"stats"},
      {"relays"},
      {"migrate", "status", "--table", table},
      {"retry", id, "--table", table, "--dry-run"},
      {"delete", id, "--table", table, "--dry-run"},
      {"relay", "--table", table, "--sink", "stdout:", "--drain", "--timeout", "1s"},
  };
  for (const Flags& command : commands) {
    ExpectHarmless(WithDatabase(command));
    Flags json = command;
    json.emplace_back("--json");
    ExpectHarmless(WithDatabase(json));
  }
  EXPECT_NE(Screen(WithDatabase({"show", id})).find("]0;x"), std::string::npos)
      << "the rest of the text is shown";
}

TEST_P(TerminalTest, JsonIsEqualInValue) {
  const Json shown = Json::parse(Screen(WithDatabase({"show", std::string(kHostileId), "--json"})));
  EXPECT_EQ(shown.at("key"), kHostile);
  EXPECT_EQ(shown.at("payload").at("payload"), kHostileInJson);
  EXPECT_EQ(shown.at("headers").at("h"), kHostileInJson);
}

TEST_P(TerminalTest, AMessageOnStandardOutputIsEqualInValue) {
  ASSERT_EQ(stage_->Run({"resume", "--table", std::string(kTable)}).exit_code, 0);
  const std::string screen = Screen(
      WithDatabase({"relay", "--table", std::string(kTable), "--sink", "stdout:", "--drain"}));
  EXPECT_EQ(base::Harmless(screen, "\n\t"), screen);
  const std::size_t begin = screen.find("{\"id\"");
  ASSERT_NE(begin, std::string::npos) << screen;
  const Json line = Json::parse(screen.substr(begin, screen.find('\n', begin) - begin));
  EXPECT_EQ(line.at("key"), kHostile);
  EXPECT_EQ(line.at("payload").at("payload"), kHostileInJson);
}

// What a person may have pasted, and what a file's name may be.
TEST_P(TerminalTest, NoArgumentIsRepeatedAsACommand) {
  const std::string table(kTable);
  const std::string hostile(kHostile);
  const std::string raw = StrCat("<\x9B", "2J", hostile);
  const std::string nowhere = StrCat("file:", stage_->folder(), "/none/", raw);
  for (const Flags& command : std::vector<Flags>{
           {hostile},
           {StrCat("--", raw)},
           {"show", raw},
           {"show", "--table", raw, std::string(kHostileId)},
           {"list", "--table", raw},
           {"list", "--topic", raw},
           {"list", "--after", raw},
           {"list", "--since", raw},
           {"stats", "--table", raw},
           {"pause", "--table", raw},
           {"pause", "--table", table, "--sink", raw},
           {"resume", "--table", table, "--sink", raw},
           {"retry", "--table", table, raw},
           {"delete", "--table", table, raw, "--yes"},
           {"enqueue", "--table", raw, "--topic", "a.b.c.v1", "--payload", "{}"},
           {"enqueue", "--table", table, "--topic", raw, "--payload", "{}"},
           {"migrate", "up", "--table", raw},
           {"migrate", "print", "--table", raw},
           {"relay", "--table", raw, "--sink", "null:"},
           {"relay", "--table", table, "--sink", nowhere, "--drain", "--timeout", "1s"},
           {"relay", "--table", table, "--sink", nowhere, "--drain", "--timeout", "1s",
            "--log-format", "json"},
           {"relay", "--table", table, "--sink", StrCat("amqp://h/?", raw, "=1")},
           {"relay", "--table", table, "--sink", StrCat("amqp://h/?window=", raw)},
       }) {
    ExpectHarmless(WithDatabase(command));
  }
  for (const Flags& command : std::vector<Flags>{
           {"stats", "--db", raw},
           {"stats", "--db", StrCat("sqlite:/none/", raw)},
           {"stats", "--db", StrCat("postgres://", hostile, "@127.0.0.1:1/", hostile)},
           {"config", "--db", raw},
           {"config", "--db", raw, "--json"},
           {"config", "--config", StrCat("/none/", raw)},
           {"config", "--profile", raw},
           {"sink", "test", raw},
           {"sink", "test", nowhere},
           {"sink", "test", nowhere, "--json"},
           {"sink", "test", StrCat("nats://127.0.0.1:1?subject=", raw)},
           {"token", "--new-secret", StrCat(stage_->folder(), "/", raw)},
           {"token", "--new-secret", StrCat(stage_->folder(), "/none/", raw)},
           {"demo", "--db", StrCat("sqlite:/none/", raw), "--script"},
           {"help", raw},
       }) {
    ExpectHarmless(command);
  }
}

}  // namespace
}  // namespace outbox::testing
