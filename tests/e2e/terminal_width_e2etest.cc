// What people see fits their terminal, however narrow it is.
//
// The commands are read from the program's own help: one that is new has to be added here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "base/text.h"
#include "cli/terminal.h"
#include "tests/e2e/support/commands.h"
#include "tests/e2e/support/sql.h"
#include "tests/e2e/support/terminal.h"
#include "tests/support/temp_folder.h"

namespace outbox::testing {
namespace {

using base::StrCat;
using ::testing::HasSubstr;

constexpr const char* kId = "01890000-0000-7000-8000-000000000001";

// No word of what it holds is wider than 40 columns, but that of a payload.
class TerminalWidth : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    ASSERT_EQ(RunOutboxd({"migrate", "up", "--db", url_, "--table", "orders_outbox", "--table",
                          "shipments_of_all_warehouses_outbox"},
                         {})
                  .exit_code,
              0);
    const auto sql = SqlConnection::Open(url_);
    ASSERT_NE(sql, nullptr);
    const std::string payload = R"({"customer":"Grace Hopper","street":")" + std::string(300, 'x') +
                                R"(","items":[1,2,3]})";
    ASSERT_TRUE(sql->Execute(
        StrCat("INSERT INTO orders_outbox (id, topic, key, payload, status, attempts, "
               "available_at, last_error, tenant_id, aggregate_type, aggregate_id, headers) VALUES "
               "('",
               kId, "', 'shop.order.placed-somewhere.v1', 'customer-4711', '", payload,
               "', 'dead', 20, 9223372036854775807, 'http 500: the shop said something that is "
               "rather long and not at all friendly', '",
               kId,
               "', 'order', '4711', "
               "'{\"traceparent\":\"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\"}')")))
        << sql->error();
    ASSERT_TRUE(sql->Execute(
        "INSERT INTO orders_outbox_attempt VALUES "
        "(1, 'rabbit', 1, 'host-17:12345:relay', 1767571200000, 1767571201000, 'retry', "
        "'retryable', 'connection refused by a broker that is not there any more'), "
        "(1, 'rabbit', 2, 'host-17:12345:relay', 1767571200000, 1767571201000, 'no_outcome', NULL, "
        "NULL), (1, 'rabbit', 20, 'host-17:12345:relay', 1767571200000, 1767571201000, 'dead', "
        "'permanent', 'http 500: the shop said something that is rather long')"))
        << sql->error();
    ASSERT_EQ(RunOutboxd({"pause", "--db", url_, "--table", "orders_outbox", "--reason",
                          "the broker moves to another machine, ask olga before you resume it"},
                         {})
                  .exit_code,
              0);
    std::ofstream(folder_.File("bad.toml"))
        << "[relay]\nbatch_sise = 1\nwindow = 0\n[[table]]\nname = \"orders_outbox\"\n"
           "sink = \"redis://h?steam=x\"\n";
    std::ofstream(folder_.File("good.toml"))
        << "[relay]\nretry_cap = \"5m\"\n[[sink]]\nname = \"mq\"\naddress = "
           "\"redis://h?stream=s\"\n"
           "max_attempts = 3\n[[sink]]\nname = \"log\"\naddress = \"null:\"\n[[route]]\ntable = "
           "\"orders_outbox\"\ntopics = \"#\"\nsinks = [\"mq\", \"log\"]\nordered = true\n";
  }

  // What a command prints on a terminal, without its colours.
  std::string On(const Words& arguments) const {
    Terminal terminal(Words{"env", StrCat("OUTBOX_DB=", url_), OUTBOXD_PATH} + arguments,
                      GetParam());
    EXPECT_GE(terminal.Wait(), 0);
    // A progress bar is drawn over.
    const std::string text =
        std::regex_replace(terminal.screen(), std::regex("[^\n]*\r\x1b\\[K"), "");
    return std::regex_replace(text, std::regex("\x1b\\[[0-9;]*m|\r"), "");
  }
  void ExpectFits(const std::string& text) const {
    EXPECT_FALSE(text.empty());
    for (const std::string& line : base::Split(text, '\n')) {
      EXPECT_LE(static_cast<int>(cli::DisplayWidth(line)), GetParam()) << line << "\nof\n" << text;
    }
  }

  const TempFolder folder_;
  const std::string url_ = "sqlite:" + folder_.File("o.db");
};
INSTANTIATE_TEST_SUITE_P(Columns, TerminalWidth, ::testing::Values(40, 60, 80, 120));

TEST_P(TerminalWidth, HoldsWhatEveryCommandPrints) {
  const Words table{"--table", "orders_outbox"};
  const std::map<std::string, std::vector<Words>> uses{
      {"serve", {{"--config", folder_.File("bad.toml")}}},
      {"relay",
       {Words{"--sink", "null:", "--drain", "--timeout", "1ms", "--log-level", "error"} + table,
        Words{"--sink", "gopher://x"} + table}},
      {"enqueue", {Words{"--topic", "a.b.c.v1", "--payload", "{}"} + table, table}},
      {"stats", {{}, {"--table", "none_outbox"}}},
      {"list", {table, {}, Words{"--status", "dead", "--limit", "1"} + table}},
      {"show", {{kId}, {"01890000-0000-7000-8000-00000000000f"}, {"x"}}},
      {"relays", {{}}},
      {"retry", {Words{kId, "--dry-run"} + table, Words{kId, "--yes"} + table, table}},
      {"delete", {Words{kId, "--dry-run"} + table, Words{"--all-dead", "--yes"} + table}},
      {"pause", {table}},
      {"resume", {table, {"--table", "orders_outbux"}}},
      {"migrate up", {table, {"--table", "more_outbox", "--topics", "relaxed"}}},
      {"migrate down", {Words{"--yes"} + table, {"--table", "more_outbox", "--yes"}}},
      {"migrate status", {{}}},
      // SQL is for a tool, and stays as it is.
      {"migrate print", {{"--table", "or/ders"}}},
      {"config",
       {{"--config", folder_.File("good.toml")}, {"--config", folder_.File("bad.toml")}, {}}},
      {"sink test", {{"null:"}, {"http://127.0.0.1:1/x"}, {"file:" + folder_.File("x"), "--yes"}}},
      // A token stays whole.
      {"token", {{}, {"--secret-env", "NONE_SUCH", "--operator"}}},
      // A view of the whole window, and figures in the columns of a report.
      {"demo", {{"--db", "x"}}},
      {"bench", {{"--only", "x"}}},
      {"version", {{}}},
  };
  for (const Words& command : AllCommands()) {
    const std::string name = base::Join(command, " ");
    const auto found = uses.find(name);
    if (found == uses.end()) {
      ADD_FAILURE() << "say here what '" << name << "' prints";
      continue;
    }
    for (const Words& arguments : found->second) {
      SCOPED_TRACE(StrCat(name, " ", base::Join(arguments, " ")));
      ExpectFits(On(command + arguments));
    }
  }
}

TEST_P(TerminalWidth, HoldsHelpAndUsageErrors) {
  ExpectFits(On({"--help"}));
  ExpectFits(On({"stast"}));
  for (const Words& command : AllCommands()) {
    SCOPED_TRACE(base::Join(command, " "));
    ExpectFits(On(command + Words{"--help"}));
    ExpectFits(On(command + Words{"--no-such-flag"}));
  }
}

TEST_P(TerminalWidth, KeepsIdsWhole) {
  for (const Words& command : {Words{"list", "--table", "orders_outbox"}, Words{"show", kId},
                               Words{"retry", "--table", "orders_outbox", kId, "--dry-run"}}) {
    EXPECT_THAT(On(command), HasSubstr(kId)) << base::Join(command, " ");
  }
}

}  // namespace
}  // namespace outbox::testing
