// The environment names of the outbox toolkit, and nothing else: `outboxd serve` behaves like it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/text.h"
#include "service/http/test_client.h"
#include "tests/e2e/support/dialects.h"
#include "tests/e2e/support/producer.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using base::StrCat;
using service::TestClient;
using ::testing::HasSubstr;
using Json = nlohmann::json;
using Variables = std::map<std::string, std::string>;

class Toolkit : public OnDialect {
 protected:
  // Where things are, which no design can know.
  static Variables Places(const Stage& stage) {
    return {{"OUTBOX_DB", stage.url()},
            {"OUTBOX_RELAY_SINK", StrCat("file:", stage.SinkFile("serve"), "?fsync=never")},
            {"OUTBOX_SERVICE_LISTEN", "127.0.0.1:0"},
            {"OUTBOX_SERVICE_AUTH_NONE", "true"}};
  }
  static Variables With(Variables variables, const Variables& more) {
    for (const auto& [name, value] : more) variables.insert_or_assign(name, value);
    return variables;
  }

  // Runs until it serves, or has ended.
  static std::unique_ptr<Process> Serve(const Variables& environment) {
    auto serve = Process::Start({OUTBOXD_PATH, "serve", "--json"}, {.environment = environment});
    EXPECT_TRUE(WaitFor([&] {
      return serve->Errors().find("\"serving\"") != std::string::npos || !serve->Running();
    }));
    return serve;
  }
  static service::TestReply Get(const Process& serve, const std::string& path) {
    const std::string marker = "http://127.0.0.1:";
    const std::string log = serve.Errors();
    const std::size_t at = log.find(marker);
    EXPECT_NE(at, std::string::npos) << log;
    if (at == std::string::npos) return {};
    return TestClient(static_cast<std::uint16_t>(std::atoi(log.c_str() + at + marker.size())))
        .Get(path);
  }
  static void ExpectEnd(Process& serve) {
    serve.Signal(SIGTERM);
    EXPECT_EQ(serve.Wait(kPatience), 0) << serve.Errors();
  }

  // What `outboxd config` says of the only table: by key, value and origin.
  static std::map<std::string, std::pair<std::string, std::string>> Config(
      const Stage& stage, const Variables& environment) {
    const Finished printed = stage.Run({"config", "--json"}, {.environment = environment});
    EXPECT_EQ(printed.exit_code, 0) << printed.standard_error;
    const Json json = Json::parse(printed.standard_output, nullptr, false);
    std::map<std::string, std::pair<std::string, std::string>> found;
    if (!json.is_object()) return found;
    const auto add = [&](const Json& settings) {
      for (const Json& one : settings) found[one.at("key")] = {one.at("value"), one.at("origin")};
    };
    add(json.at("settings"));
    for (const Json& table : json.at("tables")) add(table.at("settings"));
    return found;
  }
};
OUTBOX_ON_EVERY_DIALECT(Toolkit);

TEST_P(Toolkit, ItsNamesAloneGiveItsBehaviour) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  const Variables environment =
      With(Places(*stage), {{"OUTBOX_RELAY_TABLES", std::string(kTable)}});
  auto config = Config(*stage, environment);
  const std::map<std::string, std::string> expected{
      {"relay.batch_size", "100"},    {"relay.poll_min", "1s"},
      {"relay.poll_max", "1s"},       {"relay.lease", "1m"},
      {"relay.max_attempts", "25"},   {"relay.dispatch_timeout", "30s"},
      {"cleaner.interval", "1m"},     {"relay.last_error_max_bytes", "2048"},
      {"cleaner.retention", "7d"},    {"cleaner.dead_retention", "0"},
      {"relay.single_active", "true"}};
  for (const auto& [key, value] : expected) {
    EXPECT_EQ(config[key], (std::pair<std::string, std::string>{value, "profile toolkit"})) << key;
  }
  EXPECT_EQ(config["profile"].first, "toolkit");
  EXPECT_THAT(config["profile"].second, HasSubstr("environment OUTBOX_RELAY_TABLES"));

  ASSERT_TRUE(Produce(stage->sql(), {.rollback_percent = 0}, 1));
  const auto serve = Serve(environment);
  ASSERT_TRUE(WaitFor([&] { return stage->Count("delivered") == 10; })) << serve->Errors();
  EXPECT_EQ(Get(*serve, "/metrics").status, 404);
  ASSERT_TRUE(WaitFor([&] {
    const auto scrape = Get(*serve, "/debug/prometheus");
    return scrape.status == 200 && scrape.body.find("outbox_relay_leader{") != std::string::npos;
  })) << Get(*serve, "/debug/prometheus").body;
  ExpectEnd(*serve);
}

TEST_P(Toolkit, WhatTheEnvironmentSaysWins) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  const Variables environment = With(Places(*stage), {{"OUTBOX_RELAY_TABLES", std::string(kTable)},
                                                      {"OUTBOX_RELAY_BATCH_SIZE", "7"},
                                                      {"PROMETHEUS_METRICS_PATH", "/scrape"}});
  auto config = Config(*stage, environment);
  EXPECT_EQ(config["relay.batch_size"].first, "7");
  EXPECT_EQ(config["relay.batch_size"].second, "environment OUTBOX_RELAY_BATCH_SIZE");
  const auto serve = Serve(environment);
  EXPECT_EQ(Get(*serve, "/scrape").status, 200);
  EXPECT_EQ(Get(*serve, "/debug/prometheus").status, 404);
  ExpectEnd(*serve);

  config = Config(*stage, With(environment, {{"OUTBOX_PROFILE", "default"}}));
  EXPECT_EQ(config["profile"].first, "default");
  EXPECT_EQ(config["relay.single_active"].first, "false");
}

TEST_P(Toolkit, WithoutTablesItRunsAndRelaysNothing) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  ASSERT_TRUE(Produce(stage->sql(), {.rollback_percent = 0}, 1));
  for (const Variables& names :
       {Variables{{"OUTBOX_RELAY_TABLES", ""}}, Variables{{"OUTBOX_RELAY_ENABLED", "true"}}}) {
    const auto serve = Serve(With(Places(*stage), names));
    ASSERT_TRUE(serve->Running()) << serve->Errors();
    EXPECT_THAT(serve->Errors(), HasSubstr("no table is configured: nothing will be relayed"));
    EXPECT_EQ(Get(*serve, "/readyz").status, 200);
    EXPECT_EQ(Get(*serve, "/debug/prometheus").status, 200);
    ExpectEnd(*serve);
  }
  EXPECT_EQ(stage->sql().Number(StrCat("SELECT count(*) FROM ", kTable, " WHERE status = 'pending'",
                                       " AND attempts = 0")),
            10);
  // Without any of the names, to have nothing to do is a mistake.
  const auto refused = Serve(Places(*stage));
  EXPECT_EQ(refused->Wait(kPatience), 2) << refused->Errors();
}

TEST_P(Toolkit, DisabledItLeavesTheRows) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  ASSERT_TRUE(Produce(stage->sql(), {.rollback_percent = 0}, 1));
  const auto serve = Serve(With(Places(*stage), {{"OUTBOX_RELAY_TABLES", std::string(kTable)},
                                                 {"OUTBOX_RELAY_ENABLED", "false"}}));
  EXPECT_EQ(Get(*serve, "/healthz").status, 200);
  ExpectEnd(*serve);
  EXPECT_THAT(serve->Errors(), HasSubstr("\"delivered\":0"));
  EXPECT_EQ(stage->Unfinished(), 10);
}

}  // namespace
}  // namespace outbox::testing
