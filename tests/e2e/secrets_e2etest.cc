// Canaries: a payload, a database password and a sink's credential must not come out again, neither
// in logs, nor in the process list, nor in errors.
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "base/text.h"
#include "service/http/test_client.h"
#include "sink/option_table.h"
#include "tests/e2e/support/dialects.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using base::StrCat;

constexpr std::string_view kPayload = "canary-payload-93b1";
constexpr std::string_view kPassword = "canary-password-17c4";
constexpr std::string_view kToken = "canary-token-5e20";

std::string CommandLine(pid_t pid) {
  std::ifstream file(StrCat("/proc/", pid, "/cmdline"), std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void ExpectClean(const std::string& text, std::string_view where) {
  EXPECT_EQ(text.find("canary"), std::string::npos) << where << ": " << text;
}

class Secrets : public OnDialect {
 protected:
  // The stage's address with a password in it; a server that trusts everybody ignores it.
  static std::string UrlWithPassword(const Stage& stage) {
    if (GetParam() == Dialect::kSqlite) return stage.url();
    std::string url = stage.url();
    return url.insert(url.find('@'), StrCat(":", kPassword));
  }
  static void EnqueueCanary(Stage& stage) {
    const Finished enqueued =
        stage.Run({"enqueue", "--table", std::string(kTable), "--topic", "orders.order.created.v1",
                   "--payload", StrCat(R"({"secret":")", kPayload, R"("})")});
    ASSERT_EQ(enqueued.exit_code, 0) << enqueued.standard_error;
    ExpectClean(enqueued.standard_error, "enqueue");
  }
};
OUTBOX_ON_EVERY_DIALECT(Secrets);

TEST_P(Secrets, StayOutOfLogsAndTheProcessList) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  EnqueueCanary(*stage);
  const auto relay = stage->StartRelay(
      "relay", {"--sink", "file:/dev/full", "--probe-min", "20ms", "--probe-max", "50ms"},
      {.environment = {{"OUTBOX_DB", UrlWithPassword(*stage)}, {"OUTBOX_LOG_LEVEL", "debug"}}});
  ASSERT_TRUE(WaitFor([&] {
    return relay->Errors().find("relay waiting for sink") != std::string::npos;
  })) << relay->Errors();
  ExpectClean(CommandLine(relay->pid()), "the process list");
  relay->Signal(SIGTERM);
  ASSERT_TRUE(relay->Wait(kPatience).has_value());
  ExpectClean(relay->Errors(), "the log");
  EXPECT_EQ(stage->sql().Number(
                StrCat("SELECT count(*) FROM ", kTable, " WHERE last_error LIKE '%canary%'")),
            0);
  EXPECT_EQ(stage->sql().Number(StrCat("SELECT count(*) FROM ", kTable)), 1);
}

TEST_P(Secrets, StayOutOfErrors) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  const std::string table(kTable);
  const Finished unknown_sink = stage->Run(
      {"relay", "--table", table, "--sink", StrCat("carrier://pigeon:", kToken, "@loft/")});
  EXPECT_NE(unknown_sink.exit_code, 0);
  ExpectClean(unknown_sink.standard_error, "an unknown sink");

  const std::string nowhere = StrCat("postgres://relay:", kPassword, "@127.0.0.1:1/shop");
  const Finished unreachable =
      stage->Run({"stats", "--table", table}, {.environment = {{"OUTBOX_DB", nowhere}}});
  EXPECT_EQ(unreachable.exit_code, 1);
  ExpectClean(unreachable.standard_error, "an unreachable database");

  const Finished bad_payload =
      stage->Run({"enqueue", "--table", table, "--topic", "orders.order.created.v1", "--payload",
                  StrCat("{\"secret\":\"", kPayload)});
  EXPECT_NE(bad_payload.exit_code, 0);
  ExpectClean(bad_payload.standard_error, "a payload that is not JSON");
}

constexpr std::string_view kSchemes[] = {"amqp",  "amqps", "nats",  "natss", "redis", "rediss",
                                         "kafka", "http",  "https", "file",  "null",  "stdout"};

// A value that is what some options ask for.
std::string ValueFor(std::string_view option) {
  return option.starts_with("outbox.secret") ? "whsec_canarycanarycanarycanarycanaryca"
                                             : "canary-value-77";
}

// Options whose values are secret, misspelt, or of no meaning to the sink.
std::vector<std::string> HiddenOptions(std::string_view scheme) {
  std::vector<std::string> options{"baerer", "Password", "sasl.password"};
  for (const sink::KnownOption& option : sink::OptionsOf(scheme)) {
    if (option.view == base::OptionView::kHidden) options.emplace_back(option.name);
    if (option.view != base::OptionView::kShown) options.push_back(StrCat(option.name, "x"));
  }
  if (scheme == "kafka") {
    options.insert(options.end(), {"kafka.ssl.key.pem", "kafka.ssl.key.password",
                                   "kafka.sasl.oauthbearer.config", "kafka.no.such"});
  }
  if (scheme.starts_with("http")) {
    options.insert(options.end(), {"outbox.header.X-Any", "outbox.header.Host", "outbox.baerer",
                                   "sig", "outbox.header.X-Any_evn"});
  }
  return options;
}

TEST_P(Secrets, OfSinksAreShownByNoCommand) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  for (const std::string_view scheme : kSchemes) {
    for (const std::string& option : HiddenOptions(scheme)) {
      const std::string host = scheme == "file"                         ? ":/dev/null"
                               : scheme == "null" || scheme == "stdout" ? ":"
                                                                        : "://user@127.0.0.1:1";
      const std::string address = StrCat(scheme, host, "?", option, "=", ValueFor(option));
      const ProcessOptions with_sink{.environment = {{"OUTBOX_RELAY_SINK", address},
                                                     {"OUTBOX_RELAY_TABLES", std::string(kTable)},
                                                     {"OUTBOX_DB", stage->url()}}};
      for (const Flags& command : std::vector<Flags>{{"config"},
                                                     {"config", "--json"},
                                                     {"sink", "test", address},
                                                     {"sink", "test", address, "--json"}}) {
        const Finished finished = stage->Run(command, with_sink);
        ExpectClean(finished.standard_output + finished.standard_error,
                    StrCat(base::Join(command, " "), " with ", option));
        if (command.front() == "config" && scheme != "null" && scheme != "stdout") {
          EXPECT_NE(finished.standard_output.find(StrCat(option, "=***")), std::string::npos)
              << option << "\n"
              << finished.standard_output;
        }
      }
    }
  }
}

TEST_P(Secrets, OfSinksStayOutOfTheLogAndTheApi) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  const std::string nobody = "127.0.0.1:1";
  const std::vector<std::string> addresses{
      StrCat("amqp://user@", nobody, "/?exchange=e&password=canary-1"),
      StrCat("amqps://user:canary-2@", nobody, "/?exchange=e"),
      StrCat("nats://", nobody, "?token=canary-3"),
      StrCat("nats://user@", nobody, "?password=canary-4"),
      StrCat("redis://user@", nobody, "?password=canary-5"),
      StrCat("rediss://user:canary-6@", nobody),
      StrCat("kafka://user@", nobody, "?password=canary-7&timeout=1s"),
      StrCat("http://", nobody,
             "/hook?sig=canary-8&outbox.bearer=canary-9&outbox.secret=", ValueFor("outbox.secret"),
             "&outbox.header.X-Key=canary-10", "&outbox.allow=127.0.0.0/8"),
      StrCat("http://user@", nobody, "/?outbox.password=canary-11&outbox.allow=127.0.0.0/8"),
      StrCat("http://hooks.example/?outbox.proxy=http://user:canary-12@", nobody)};
  std::ofstream file(stage->folder() + "/outboxd.toml");
  std::vector<std::string> names;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    names.push_back(StrCat("\"s", i, "\""));
    file << "[[sink]]\nname = " << names.back() << "\naddress = \"" << addresses[i] << "\"\n";
  }
  file << "[[route]]\ntable = \"" << kTable << "\"\ntopics = \"#\"\nsinks = ["
       << base::Join(names, ", ") << "]\n";
  file.close();
  ASSERT_EQ(stage
                ->Run({"enqueue", "--table", std::string(kTable), "--topic",
                       "orders.order.created.v1", "--payload", "{}"})
                .exit_code,
            0);
  const auto served =
      Process::Start({OUTBOXD_PATH, "serve", "--config", stage->folder() + "/outboxd.toml"},
                     {.environment = {{"OUTBOX_DB", stage->url()},
                                      {"OUTBOX_LOG_LEVEL", "debug"},
                                      {"OUTBOX_RELAY_PROBE_MIN", "20ms"},
                                      {"OUTBOX_RELAY_PROBE_MAX", "50ms"},
                                      {"OUTBOX_SERVICE_LISTEN", "127.0.0.1:0"},
                                      {"OUTBOX_SERVICE_AUTH_NONE", "true"}}});
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const std::string waits = StrCat(
        "\"relay waiting for sink\" table=", GetParam() == Dialect::kPostgres ? "public." : "",
        kTable, " sink=s", i, " ");
    EXPECT_TRUE(WaitFor([&] {
      return served->Errors().find(waits) != std::string::npos || !served->Running();
    })) << waits
        << served->Errors();
  }
  const std::string log = served->Errors();
  const std::string marker = "address=http://127.0.0.1:";
  const std::size_t at = log.find(marker);
  ASSERT_NE(at, std::string::npos) << log;
  const auto port = static_cast<std::uint16_t>(std::atoi(log.c_str() + at + marker.size()));
  for (const char* path : {"/api/v1/operator/relays", "/api/v1/operator/config", "/readyz",
                           "/metrics", "/openapi.json"}) {
    service::TestClient client(port);
    client.Send(StrCat("GET ", path, " HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    const service::TestReply reply = client.Read();
    // Whether it is ready is not the question.
    EXPECT_TRUE(reply.status == 200 || reply.status == 503) << path << ": " << reply.body;
    ExpectClean(reply.body, path);
    if (std::string_view(path).ends_with("config")) {
      EXPECT_NE(reply.body.find("outbox.bearer=***"), std::string::npos) << reply.body;
      EXPECT_NE(reply.body.find("user:***@"), std::string::npos) << reply.body;
    }
  }
  ExpectClean(CommandLine(served->pid()), "the process list");
  served->Signal(SIGTERM);
  ASSERT_TRUE(served->Wait(kPatience).has_value());
  ExpectClean(served->Errors(), "the log");
}

TEST_P(Secrets, AreMaskedInThePrintedConfiguration) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  const std::string database =
      StrCat("postgres://relay:", kPassword, "@db/shop?pasword=", kPassword);
  const Finished config = stage->Run({"config"}, {.environment = {{"OUTBOX_DB", database}}});
  EXPECT_EQ(config.exit_code, 2) << "libpq has no such option";
  EXPECT_NE(config.standard_error.find("pasword"), std::string::npos) << config.standard_error;
  EXPECT_NE(config.standard_output.find("db/shop"), std::string::npos) << config.standard_output;
  ExpectClean(config.standard_output + config.standard_error, "config");
}

}  // namespace
}  // namespace outbox::testing
