// What is wrong with a configuration: `config`, `serve` and `relay` tell the same, all of it at
// once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "base/text.h"
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
using Json = nlohmann::json;
using Variables = std::map<std::string, std::string>;

class ConfigCheck : public ::testing::Test {
 protected:
  static Finished Outboxd(std::vector<std::string> arguments, Variables environment = {}) {
    arguments.insert(arguments.begin(), OUTBOXD_PATH);
    environment.try_emplace("OUTBOX_DB", "");
    return Process::Run(arguments, {.environment = std::move(environment)});
  }
  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name)) << text;
    return Path(name);
  }
  // What both say of a file; nothing, and a failure, when they do not agree.
  std::string Refusal(const std::string& toml, const Variables& environment = {}) const {
    const std::string file = Write("outboxd.toml", toml);
    const Finished config = Outboxd({"config", "--config", file}, environment);
    const Finished serve = Outboxd({"serve", "--config", file}, environment);
    EXPECT_EQ(config.exit_code, 2) << config.standard_error;
    EXPECT_EQ(serve.exit_code, 2) << serve.standard_error;
    EXPECT_EQ(config.standard_error, serve.standard_error);
    return config.standard_error;
  }

  const TempFolder folder_;
};

TEST_F(ConfigCheck, TellsEveryProblemAtOnceWithItsPlace) {
  const std::string refusal = Refusal(
      "database = \"foo:bar\"\n"                                                    // 1
      "[relay]\nbatch_sise = 1\nwindow = 0\n"                                       // 2 to 4
      "[[table]]\nname = \"orders_outbox\"\nsink = \"redis://h?steam=x\"\n"         // 5 to 7
      "[[table]]\nname = \"public.orders_outbox\"\n"                                // 8, 9
      "[[table]]\nname = \"mails_outbox\"\n"                                        // 10, 11
      "[[sink]]\nname = \"mq\"\naddress = \"amqp://u@h?password_env=NONE_SUCH\"\n"  // 12 to 14
      "[[sink]]\nname = \"hook\"\naddress = \"https://h/x?outbox.bearer_env=EMPTY\"\n"
      "topics = \"a\"\n"  // 15 to 18
      "[[route]]\ntable = \"audit_outbox\"\ntopics = \"#\"\nsinks = [\"mq\", \"hook\"]\n"
      "[[route]]\ntable = \"audit_outbox\"\ntopics = \"a..b\"\nsinks = [\"mp\"]\n"  // 23 to 26
      "[service]\nlisten = [\"127.0.0.1:8080\", \"here\", \"127.0.0.1:8080\"]\n"    // 27, 28
      "cors_origins = \"foo\"\nauth_secret_env = \"EMPTY\"\n"                       // 29, 30
      "auth_public_keys = [\"/none/a.pem\", \"/none/b.pem\"]\n"                     // 31
      "tls_certificate = \"/none/cert.pem\"\ntls_key = \"/none/key.pem\"\n"         // 32, 33
      "auth_issuers = \"\"\n",
      {{"EMPTY", ""}});
  for (const char* problem : {":1: db: ",
                              ":3: relay.batch_sise: unknown key",
                              ":4: relay.window: ",
                              ":7: the redis: sink: there is no option 'steam'",
                              ":8: there are two [[table]]",
                              ":10: table public.mails_outbox: has no sink",
                              ":14: sink 'mq': ",
                              "has no NONE_SUCH",
                              ":17: sink 'hook': ",
                              "EMPTY is empty",
                              ":18: sink.topics: belongs to the [[table]]",
                              ":25: route.topics: ",
                              ":26: route.sinks: there is no [[sink]] called 'mp'",
                              ":28: service.listen: 'here'",
                              ":28: service.listen: 127.0.0.1:8080 is there twice",
                              ":29: service.cors_origins: \"foo\"",
                              ":30: service.auth_secret_env: ",
                              "/none/a.pem",
                              "/none/b.pem",
                              ":32: service.tls_certificate: "}) {
    EXPECT_THAT(refusal, HasSubstr(problem));
  }
  // In the order of the file.
  std::vector<int> lines;
  const std::regex line(":([0-9]+): ");
  for (std::sregex_iterator at(refusal.begin(), refusal.end(), line), end; at != end; ++at) {
    lines.push_back(std::stoi((*at)[1]));
  }
  EXPECT_EQ(lines.size(), 19u) << refusal;
  EXPECT_TRUE(std::ranges::is_sorted(lines)) << refusal;
}

TEST_F(ConfigCheck, OneProblemIsOneLineAndItsHint) {
  const std::string refusal = Refusal(
      "[[table]]\nname = \"orders_outbox\"\nsink = \"gopher://x\"\n", {{"OUTBOX_DB", "sqlite:x"}});
  EXPECT_THAT(refusal, AllOf(HasSubstr("outboxd.toml:3: unknown sink scheme 'gopher:'\nhint: "),
                             HasSubstr("file:PATH")));
}

TEST_F(ConfigCheck, ADatabaseThatIsAwayHidesNoMistake) {
  // Port 1 answers nobody; who asks the database first waits a minute for it.
  const std::string refusal = Refusal(
      "database = \"postgres://u@127.0.0.1:1/d\"\n[[table]]\nname = \"a\"\n"
      "sink = \"redis://h?steam=x\"\n[service]\nlisten = \"127.0.0.1:0\"\n"
      "auth_secret_env = \"NONE_SUCH\"\n");
  EXPECT_THAT(refusal, AllOf(HasSubstr(":4: "), HasSubstr(":7: service.auth_secret_env: "),
                             Not(HasSubstr("127.0.0.1:1"))));
}

TEST_F(ConfigCheck, RelayTellsTheSameAsServe) {
  const Variables variables{{"OUTBOX_DB", "foo:bar"},
                            {"OUTBOX_RELAY_TABLES", "orders_outbox"},
                            {"OUTBOX_RELAY_SINK", "redis://h?steam=x"},
                            {"OUTBOX_RELAY_LOCK_TTL", "x"},
                            {"OUTBOX_PROFILE", "default"},
                            {"OUTBOX_RELAY_WINDOW", "0"}};
  const Finished relay = Outboxd({"relay"}, variables);
  const Finished serve = Outboxd({"serve"}, variables);
  const Finished config = Outboxd({"config"}, variables);
  for (const Finished* finished : {&relay, &serve, &config}) {
    EXPECT_EQ(finished->exit_code, 2);
    EXPECT_EQ(finished->standard_error, relay.standard_error);
  }
  EXPECT_THAT(
      relay.standard_error,
      AllOf(HasSubstr("environment OUTBOX_DB: db: "), HasSubstr("environment OUTBOX_RELAY_SINK: "),
            HasSubstr("'stream'?"), HasSubstr("environment OUTBOX_RELAY_LOCK_TTL: relay.lease: "),
            HasSubstr("environment OUTBOX_RELAY_WINDOW: relay.window: ")));
}

TEST_F(ConfigCheck, TheDatabaseAndTheServiceAreCheckedWithoutATable) {
  const Finished refused = Outboxd({"config"}, {{"OUTBOX_DB", "foo:bar"},
                                                {"OUTBOX_SERVICE_LISTEN", "127.0.0.1:0"},
                                                {"OUTBOX_SERVICE_AUTH_SECRET_FILE", Path("none")}});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.standard_error,
              AllOf(HasSubstr("environment OUTBOX_DB: db: "),
                    HasSubstr("environment OUTBOX_SERVICE_AUTH_SECRET_FILE: "
                              "service.auth_secret_file: "),
                    HasSubstr(Path("none"))));
  // Nothing to deliver from is no mistake yet, and told.
  const Finished idle = Outboxd({"config"});
  EXPECT_EQ(idle.exit_code, 0) << idle.standard_error;
  EXPECT_THAT(idle.standard_error, HasSubstr("note: there is no table to deliver from"));
  // One that is idle on purpose needs its database.
  const Finished toolkit = Outboxd({"config"}, {{"OUTBOX_RELAY_TABLES", ""}});
  EXPECT_EQ(toolkit.exit_code, 2);
  EXPECT_THAT(toolkit.standard_error, HasSubstr("no database is given"));
  EXPECT_EQ(Outboxd({"serve"}, {{"OUTBOX_RELAY_TABLES", ""}}).standard_error,
            toolkit.standard_error);
}

TEST_F(ConfigCheck, AFileThatIsNoTomlIsNotToldOfWhatItMayHold) {
  const std::string refusal = Refusal("database = \"sqlite:x\n[[table]]\n");
  EXPECT_THAT(refusal, AllOf(HasSubstr("outboxd.toml:1: "), Not(HasSubstr("no database")),
                             Not(HasSubstr("no table"))));
}

TEST_F(ConfigCheck, JsonIsPrintedWhenEveryValueIsUnderstood) {
  const std::string file =
      Write("outboxd.toml", "[[table]]\nname = \"a\"\nsink = \"gopher://x\"\n");
  const Finished refused =
      Outboxd({"config", "--json", "--config", file}, {{"OUTBOX_DB", "sqlite:x"}});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_EQ(Json::parse(refused.standard_output).at("tables").at(0).at("name"), "main.a");
  const Finished garbled = Outboxd({"config", "--json"}, {{"OUTBOX_RELAY_WINDOW", "x"}});
  EXPECT_EQ(garbled.exit_code, 2);
  EXPECT_THAT(garbled.standard_output, IsEmpty());
}

TEST_F(ConfigCheck, ARelayWithoutTablesSaysSoOnceAndWaits) {
  const std::string url = "sqlite:" + Path("idle.db");
  ASSERT_EQ(Outboxd({"migrate", "up", "--db", url, "--table", "orders_outbox"}).exit_code, 0);
  const auto relay = Process::Start(
      {OUTBOXD_PATH, "relay", "--profile", "toolkit", "--db", url, "--log-format", "json"},
      {.environment = {{"OUTBOX_RELAY_TABLES", ""}}});
  const std::string message = "no table is configured: nothing will be relayed";
  EXPECT_TRUE(WaitFor([&] { return relay->Errors().find(message) != std::string::npos; }))
      << relay->Errors();
  EXPECT_TRUE(relay->Running());
  relay->Signal(SIGTERM);
  EXPECT_EQ(relay->Wait(kPatience), 0) << relay->Errors();
  const std::string log = relay->Errors();
  EXPECT_EQ(log.find(message), log.rfind(message)) << log;
  EXPECT_THAT(log, AllOf(HasSubstr("OUTBOX_RELAY_TABLES"), HasSubstr("--table")));

  // A drain has drained, and says it too. The toolkit's name alone is enough.
  const Finished drained =
      Outboxd({"relay", "--db", url, "--drain"}, {{"OUTBOX_RELAY_TABLES", ""}});
  EXPECT_EQ(drained.exit_code, 0) << drained.standard_error;
  EXPECT_THAT(drained.standard_error, HasSubstr(message));
  // Who does not say that there is none has forgotten it.
  EXPECT_EQ(Outboxd({"relay", "--profile", "toolkit", "--db", url}).exit_code, 2);
}

}  // namespace
}  // namespace outbox::testing
