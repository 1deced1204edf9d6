// The HTTP service of the real program: a stall is seen, numbers are exact, stopping takes bounded
// time, secrets stay inside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "service/http/test_client.h"
#include "tests/e2e/support/blocked_pipe.h"
#include "tests/e2e/support/dialects.h"
#include "tests/e2e/support/producer.h"
#include "tests/e2e/support/served.h"
#include "tests/support/http_server.h"
#include "tests/support/temp_folder.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using base::StrCat;
using service::TestClient;
using service::TestReply;
using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr const char* kServedTopic = "orders.order.created.v1";
constexpr std::string_view kDatabasePassword = "canary-password-77aa";

class ServiceTest : public OnDialect {
 protected:
  static std::string Named(const Stage& stage) {
    return stage.dialect() == Dialect::kPostgres ? StrCat("public.", kTable) : std::string(kTable);
  }
  // What a report of readiness says of the only table's messages; null when it has no such thing.
  static Json StatsIn(const TestReply& reply) {
    const Json report = Json::parse(reply.body, nullptr, false);
    if (!report.is_object() || !report.contains("tables")) return nullptr;
    return report["tables"].at(0).value("stats", Json());
  }
  static void Enqueue(Stage& stage, std::vector<NewMessage> messages) {
    ASSERT_TRUE(stage.sql().Execute("BEGIN"));
    const auto enqueued = stage.sql().EnqueueMany(kTable, messages);
    ASSERT_TRUE(enqueued.ok());
    ASSERT_TRUE(stage.sql().Execute("COMMIT"));
  }
};
OUTBOX_ON_EVERY_DIALECT(ServiceTest);

// Before it waits for a database that is away, and as `outboxd config` has it.
TEST(ServiceFiles, MistakesAreToldAtOnceAndAlike) {
  const TempFolder folder;
  const std::string missing = folder.File("missing");
  std::ofstream(folder.File("short")) << "too short";
  const std::vector<std::map<std::string, std::string>> mistakes{
      {{"OUTBOX_SERVICE_AUTH_SECRET_FILE", missing}},
      {{"OUTBOX_SERVICE_AUTH_SECRET_FILE", folder.File("short")}},
      {{"OUTBOX_SERVICE_AUTH_SECRET_ENV", "NO_SUCH_VARIABLE_HERE"}},
      {{"OUTBOX_SERVICE_AUTH_PUBLIC_KEYS", missing}},
      {{"OUTBOX_SERVICE_AUTH_JWKS_FILE", missing}},
      {{"OUTBOX_SERVICE_AUTH_JWKS_FILE", folder.File("short")}},
      {{"OUTBOX_SERVICE_AUTH_NONE", "true"},
       {"OUTBOX_SERVICE_TLS_CERTIFICATE", missing},
       {"OUTBOX_SERVICE_TLS_KEY", missing}}};
  for (auto environment : mistakes) {
    environment.insert({{"OUTBOX_DB", "postgres://nobody@127.0.0.1:1/nothing"},
                        {"OUTBOX_DB_WAIT", "1h"},
                        {"OUTBOX_RELAY_TABLES", std::string(kTable)},
                        {"OUTBOX_RELAY_SINK", "null:"},
                        {"OUTBOX_SERVICE_LISTEN", "127.0.0.1:0"}});
    const ProcessOptions options{.environment = environment};
    const Finished config = Process::Run({OUTBOXD_PATH, "config"}, options);
    EXPECT_EQ(config.exit_code, 2);
    const Finished serve = Process::Run({OUTBOXD_PATH, "serve"}, options);
    EXPECT_EQ(serve.exit_code, 2);
    EXPECT_EQ(serve.standard_error, config.standard_error);
    EXPECT_THAT(
        serve.standard_error,
        HasSubstr(environment.contains("OUTBOX_SERVICE_AUTH_SECRET_ENV") ? "NO_SUCH_VARIABLE_HERE"
                                                                         : folder.File("")));
    // Nor does it take a table for that; this profile needs none.
    environment.erase("OUTBOX_RELAY_TABLES");
    environment["OUTBOX_PROFILE"] = "toolkit";
    const Finished idle = Process::Run({OUTBOXD_PATH, "serve"}, {.environment = environment});
    EXPECT_EQ(idle.exit_code, 2);
    EXPECT_EQ(idle.standard_error, config.standard_error);
  }
}

TEST_P(ServiceTest, ReadinessSeesWorkThatNobodyDoes) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  BlockedPipe pipe(stage->folder() + "/pipe");
  Served served(*stage, {{"OUTBOX_RELAY_SINK", pipe.sink()},
                         {"OUTBOX_RELAY_BATCH_SIZE", "20"},
                         {"OUTBOX_RELAY_WINDOW", "20"},
                         {"OUTBOX_RELAY_SHUTDOWN_TIMEOUT", "1s"},
                         {"OUTBOX_SERVICE_STALLED_AFTER", "1s"}});
  EXPECT_TRUE(WaitFor([&] { return served.Get("/readyz").status == 200; }));
  ASSERT_TRUE(Produce(stage->sql(), {.per_transaction = 50, .payload_bytes = 1000}, 2));
  TestReply reply;
  const std::string token = served.OperatorToken();
  // The pipe takes a batch and no more.
  ASSERT_TRUE(WaitFor([&] {
    reply = served.Get("/readyz", token);
    const Json stats = StatsIn(reply);
    return reply.status == 503 && stats.is_object() && stats.at("due") == 80;
  })) << reply.body;
  const Json report = Json::parse(reply.body);
  EXPECT_EQ(report.at("status"), "not_ready");
  EXPECT_EQ(report.at("stalled"), true);
  EXPECT_EQ(report.at("database"), "ok");
  EXPECT_EQ(report.at("tables").at(0).at("stalled"), true);
  EXPECT_EQ(served.Get("/healthz").status, 200);  // the process itself is well

  ASSERT_TRUE(stage->sql().Execute(StrCat("DELETE FROM ", kTable, " WHERE status = 'pending'")));
  EXPECT_TRUE(WaitFor([&] { return served.Get("/readyz").status == 200; }));
}

TEST_P(ServiceTest, ReadinessDoesNotWaitForMessagesOfOthers) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  Served served(*stage, {{"OUTBOX_RELAY_SINK", "null:"},
                         {"OUTBOX_RELAY_NAMESPACE", "mine"},
                         {"OUTBOX_SERVICE_STALLED_AFTER", "2s"}});
  Enqueue(*stage, {{.topic = kServedTopic, .payload = "1", .name_space = "mine"},
                   {.topic = kServedTopic, .payload = "1", .name_space = "other"}});
  ASSERT_TRUE(WaitFor([&] { return stage->Count("delivered") == 1; }));
  TestReply reply;
  const std::string token = served.OperatorToken();
  ASSERT_TRUE(WaitFor([&] {
    reply = served.Get("/readyz", token);
    const Json stats = StatsIn(reply);
    return stats.contains("oldest_age_ms") && stats["oldest_age_ms"] > 6'000;
  }));
  EXPECT_EQ(reply.status, 200) << reply.body;
}

constexpr int kSmallBuffer = 1024;

// Far more answers than a small buffer and the server's take, so that one is under way.
void AskForTooMuch(TestClient& client) {
  for (int i = 0; i < 400; ++i) {
    ASSERT_TRUE(client.Send("GET /openapi.json HTTP/1.1\r\nHost: test\r\n\r\n"));
  }
  EXPECT_EQ(client.Read(true).status, 200);
}

TEST_P(ServiceTest, AClientThatDoesNotReadIsNoFailure) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  Served served(*stage, {{"OUTBOX_RELAY_SINK", "null:"}});
  TestClient slow(served.port(), kSmallBuffer);
  AskForTooMuch(slow);
  served.process().Signal(SIGTERM);
  const auto exit_code = served.process().Wait(kPatience);
  ASSERT_TRUE(exit_code.has_value());
  EXPECT_EQ(*exit_code, 0) << served.process().Errors();
  EXPECT_THAT(served.process().Errors(), HasSubstr("cut off requests to stop in time"));
}

TEST_P(ServiceTest, MetricsCountKnownTrafficExactly) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  // "bad" is refused for good; "twice" fails the first time; the rest is taken.
  std::mutex mutex;
  std::map<std::string, int> tries;
  const auto receiver = HttpServer::Start({.handler = [&](const HttpServer::Request& request) {
    const std::lock_guard lock(mutex);
    const int tried = ++tries[request.headers.at("outbox-id")];
    if (request.body.find("bad") != std::string::npos) return HttpServer::Reply{.status = 400};
    const bool again = request.body.find("twice") != std::string::npos && tried == 1;
    return HttpServer::Reply{.status = again ? 500 : 200};
  }});
  ASSERT_NE(receiver, nullptr);
  Served served(*stage, {{"OUTBOX_RELAY_SINK",
                          receiver->url() + "/hook?outbox.body=plain&outbox.allow=127.0.0.0/8"},
                         {"OUTBOX_RELAY_RETRY_BASE", "10ms"}});
  std::vector<NewMessage> messages(20, {.topic = kServedTopic, .payload = R"("good")"});
  for (int i = 0; i < 7; ++i) messages[i].payload = R"("twice")";
  for (int i = 7; i < 10; ++i) messages[i].payload = R"("bad")";
  messages.resize(24,
                  {.topic = kServedTopic, .payload = R"("later")", .delay = std::chrono::hours(1)});
  Enqueue(*stage, messages);
  ASSERT_TRUE(WaitFor([&] { return stage->Count("delivered") + stage->Count("dead") == 20; }));

  const std::string table = StrCat("table=\"", Named(*stage), "\"");
  const std::string topic = StrCat(table, ",topic=\"", kServedTopic, "\"");
  const std::map<std::string, double> expected{
      {StrCat("outbox_dispatch_total{result=\"success\",", topic, "}"), 17},
      {StrCat("outbox_dispatch_failures_total{reason=\"retry\",", topic, "}"), 7},
      {StrCat("outbox_dispatch_failures_total{reason=\"rejected\",", topic, "}"), 3},
      {StrCat("outbox_dead_total{", topic, "}"), 3},
      {StrCat("outbox_settled_total{result=\"delivered\",sink=\"default\",", table, "}"), 17},
      {StrCat("outbox_settled_total{result=\"retry\",sink=\"default\",", table, "}"), 7},
      {StrCat("outbox_settled_total{result=\"dead\",sink=\"default\",", table, "}"), 3},
      {StrCat("outbox_claimed_total{sink=\"default\",", table, "}"), 27},
      {StrCat("outbox_pending{", table, "}"), 4},
      {StrCat("outbox_due{", table, "}"), 0},
      {StrCat("outbox_dead_messages{", table, "}"), 3}};
  std::string scrape;
  const auto as_expected = [&] {
    scrape = served.Get("/metrics").body;
    return std::all_of(expected.begin(), expected.end(), [&](const auto& one) {
      return Served::Value(scrape, one.first) == one.second;
    });
  };
  if (WaitFor(as_expected)) return;
  for (const auto& [series, value] : expected) {
    EXPECT_EQ(Served::Value(scrape, series), value) << series;
  }
  ADD_FAILURE() << scrape;
}

TEST_P(ServiceTest, StopsInBoundedTimeWithListenersAndSlowRequests) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  Served served(*stage, {{"OUTBOX_RELAY_SINK", "null:"}});
  TestClient listener(served.port());
  ASSERT_TRUE(listener.Send(StrCat("GET /api/v1/operator/events HTTP/1.1\r\nHost: test\r\n",
                                   "Authorization: Bearer ", served.OperatorToken(), "\r\n\r\n")));
  EXPECT_THAT(listener.ReadUntil("event: counters"), HasSubstr("event: counters"));
  TestClient slow(served.port());
  ASSERT_TRUE(
      slow.Send("POST /api/v1/tables HTTP/1.1\r\nHost: test\r\nContent-Length: 9\r\n\r\n1"));
  TestClient idle(served.port());
  EXPECT_EQ(idle.Get("/healthz").status, 200);

  served.process().Signal(SIGTERM);
  // Before the idle one would be closed anyway; the listener would stay for good.
  const auto exit_code = served.process().Wait(std::chrono::seconds(40));
  ASSERT_TRUE(exit_code.has_value());
  EXPECT_EQ(*exit_code, 0) << served.process().Errors();
  EXPECT_TRUE(listener.ClosedWithin(kPatience));
}

TEST_P(ServiceTest, ASecondSignalEndsItAlsoWhileRequestsAreFinished) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  Served served(*stage, {{"OUTBOX_RELAY_SINK", "null:"}});
  TestClient slow(served.port(), kSmallBuffer);
  AskForTooMuch(slow);
  served.process().Signal(SIGTERM);
  ASSERT_TRUE(WaitFor([&] { return !TestClient(served.port()).connected(); }))
      << "it stops to listen when the relays have stopped";
  served.process().Signal(SIGTERM);
  EXPECT_EQ(served.process().Wait(kPatience), 128 + SIGTERM);
}

TEST_P(ServiceTest, SecretsStayInside) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  std::string url = stage->url();
  if (GetParam() == Dialect::kPostgres) url.insert(url.find('@'), StrCat(":", kDatabasePassword));
  Served served(*stage, {{"OUTBOX_DB", url},
                         {"OUTBOX_LOG_LEVEL", "debug"},
                         {"OUTBOX_RELAY_SINK",
                          "http://user:canary-sink@127.0.0.1:1/hook"
                          "?outbox.allow=127.0.0.0/8"}});
  const std::string token = served.OperatorToken();
  const std::string signature = token.substr(token.rfind('.') + 1);
  ASSERT_GT(signature.size(), 20u);
  Enqueue(*stage, {{.topic = kServedTopic, .payload = R"("canary-payload")"}});
  const auto clean = [&](const std::string& text) {
    return text.find("canary") == std::string::npos && text.find(signature) == std::string::npos;
  };
  EXPECT_FALSE(clean("canary-sink"));
  EXPECT_FALSE(clean(token));
  const std::string messages = StrCat("/api/v1/tables/", Named(*stage), "/messages");
  for (const std::string& path :
       {std::string("/api/v1/operator/config"), std::string("/api/v1/operator/relays"),
        std::string("/api/v1/operator/stats"), messages, messages + "?access_token=" + signature,
        std::string("/readyz"), std::string("/metrics"), std::string("/nothing"),
        std::string("/openapi.json")}) {
    const TestReply reply = served.Get(path, token);
    EXPECT_NE(reply.status, 0) << path;
    EXPECT_TRUE(clean(reply.body)) << path << reply.body;
  }
  EXPECT_EQ(served.Get("/api/v1/operator/config", token).status, 200);
  EXPECT_EQ(served.Get("/api/v1/tables", token + "x").status, 401);
  served.process().Signal(SIGTERM);
  EXPECT_TRUE(served.process().Wait(kPatience).has_value());
  EXPECT_TRUE(clean(served.process().Errors())) << served.process().Errors();
  EXPECT_TRUE(clean(served.process().Output()));
}

// Processes of one database that know of each other.
class ProcessesTest : public ServiceTest {
 protected:
  static std::unique_ptr<Served> Serve(const Stage& stage, const std::string& name,
                                       std::map<std::string, std::string> more = {}) {
    more.insert({{"OUTBOX_RELAY_SINK", "file:" + stage.SinkFile(name)},
                 {"OUTBOX_RELAY_BATCH_SIZE", "10"},
                 {"OUTBOX_RELAY_HEARTBEAT_INTERVAL", "1s"}});
    return std::make_unique<Served>(stage, more);
  }
  static std::size_t Count(const Json& relays, const char* member, const Json& value) {
    return static_cast<std::size_t>(
        std::count_if(relays.begin(), relays.end(),
                      [&](const Json& relay) { return relay.value(member, Json()) == value; }));
  }
  static Json Find(const Json& relays, pid_t pid) {
    for (const Json& relay : relays) {
      if (relay.value("pid", 0) == pid) return relay;
    }
    return Json::object();
  }
};
OUTBOX_ON_EVERY_DIALECT(ProcessesTest);

TEST_P(ProcessesTest, AreListedAndOneLeadsUntilItDies) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  auto one = Serve(*stage, "one", {{"OUTBOX_RELAY_SINGLE_ACTIVE", "true"}});
  auto two = Serve(*stage, "two", {{"OUTBOX_RELAY_SINGLE_ACTIVE", "true"}});
  const std::string token = one->OperatorToken();
  Json relays;
  ASSERT_TRUE(WaitFor([&] {
    relays = one->Relays(token);
    return relays.size() == 2 && Count(relays, "leading", true) == 1 &&
           Count(relays, "gone", false) == 2 && Count(relays, "pid", one->process().pid()) == 1;
  })) << relays;
  EXPECT_EQ(Count(relays, "table", Named(*stage)), 2u);
  EXPECT_EQ(Count(relays, "this_process", true), 1u);
  EXPECT_EQ(Count(relays, "paused", false), 2u);

  const bool first_leads = Find(relays, one->process().pid()).value("leading", false);
  auto& leader = first_leads ? one : two;
  auto& other = first_leads ? two : one;
  const std::string others_token = other->OperatorToken();
  const pid_t died = leader->process().pid();
  leader->process().Kill();
  ASSERT_TRUE(WaitFor([&] {
    relays = other->Relays(others_token);
    return Find(relays, died).value("gone", false) &&
           Find(relays, other->process().pid()).value("leading", false);
  })) << relays;
  EXPECT_EQ(Find(relays, died).value("state", ""), "gone");
  EXPECT_EQ(Count(relays, "leading", true), 1u);
  // The command line says the same.
  Finished listed;
  EXPECT_TRUE(WaitFor([&] {
    listed = stage->Run({"relays", "--json"});
    if (listed.exit_code != 0) return false;
    const Json by_command = Json::parse(listed.standard_output).at("relays");
    return by_command.size() == 2 && Count(by_command, "gone", true) == 1;
  })) << listed.standard_output
      << listed.standard_error;
  EXPECT_THAT(stage->Run({"relays"}).standard_output, HasSubstr("gone"));
  // Who ends in peace leaves no row behind.
  other->process().Signal(SIGTERM);
  ASSERT_EQ(other->process().Wait(kPatience), 0);
  EXPECT_EQ(Json::parse(stage->Run({"relays", "--json"}).standard_output).at("relays").size(), 1u);
}

TEST_P(ProcessesTest, APauseReachesAllAndOutlastsRestarts) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  auto one = Serve(*stage, "one");
  auto two = Serve(*stage, "two");
  const std::string token = one->OperatorToken();
  Producer producer(stage->url(), Load{.pause = std::chrono::milliseconds(5)});
  ASSERT_TRUE(WaitFor([&] {
    const Json relays = one->Relays(token);
    return relays.size() == 2 && stage->Count("delivered") > 50;
  }));
  const std::string path = StrCat("/api/v1/operator/tables/", Named(*stage));
  const TestReply paused = one->Post(path + "/pause?reason=repair", token);
  ASSERT_EQ(paused.status, 200) << paused.body;
  EXPECT_EQ(Json::parse(paused.body).at("relays"), 1);
  ASSERT_TRUE(WaitFor([&] { return Count(one->Relays(token), "state", "paused") == 2; }));
  ASSERT_TRUE(WaitFor([&] { return stage->Leased() == 0; }));
  const std::size_t delivered = stage->Delivered();
  const std::int64_t waiting = stage->Unfinished();
  ASSERT_TRUE(WaitFor([&] { return stage->Unfinished() > waiting + 100; }));
  EXPECT_EQ(stage->Delivered(), delivered) << "somebody delivers while all are paused";

  two->process().Signal(SIGTERM);
  ASSERT_EQ(two->process().Wait(kPatience), 0);
  auto again = Serve(*stage, "again");
  ASSERT_TRUE(WaitFor([&] {
    return Find(one->Relays(token), again->process().pid()).value("state", "") == "paused";
  }));
  const std::int64_t then = stage->Unfinished();
  ASSERT_TRUE(WaitFor([&] { return stage->Unfinished() > then + 50; }));
  EXPECT_EQ(stage->Delivered(), delivered) << "it started paused, and yet delivered";

  const Finished resumed = stage->Run({"resume", "--table", std::string(kTable)});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.standard_error;
  producer.Stop();
  ASSERT_TRUE(WaitFor([&] { return stage->Unfinished() == 0; }));
  const Verdict verdict = stage->Judge();
  PrintVerdict(Name(), verdict, 0, 0);
  EXPECT_EQ(verdict.lost, 0u);
  EXPECT_EQ(verdict.phantom, 0u);
  EXPECT_EQ(verdict.duplicated, 0u);
  const Json audit = Json::parse(one->Get("/api/v1/operator/audit", token).body).at("records");
  ASSERT_EQ(audit.size(), 2u);
  EXPECT_EQ(audit[0].at("action"), "resume");
  EXPECT_THAT(audit[0].at("actor").get<std::string>(), HasSubstr("@"));
  EXPECT_EQ(audit[1].at("action"), "pause");
  EXPECT_EQ(audit[1].at("filter"), Json({{"reason", "repair"}}));
}

TEST_P(ProcessesTest, ARelayWithoutTheTablesForItRuns) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  // As an installation of an older program left it.
  for (const char* table : {"relay", "pause", "audit"}) {
    ASSERT_TRUE(stage->sql().Execute(StrCat("DROP TABLE outbox", Pick(".", "_"), table)));
  }
  if (GetParam() == Dialect::kPostgres) {
    ASSERT_TRUE(stage->sql().Execute("COMMENT ON SCHEMA outbox IS 'older'"));
  }
  const auto relay = stage->StartRelay("relay", {"--heartbeat-interval", "100ms"});
  Enqueue(*stage, {{.topic = kServedTopic, .payload = "1"}});
  ASSERT_TRUE(WaitFor([&] { return stage->Count("delivered") == 1; }));
  const auto said = [&](const char* text) {
    const std::string log = relay->Errors();
    std::size_t times = 0;
    for (std::size_t at = 0; (at = log.find(text, at)) != std::string::npos; ++at) ++times;
    return times;
  };
  ASSERT_TRUE(WaitFor([&] { return said("heartbeats are off") == 1; }));
  const Finished listed = stage->Run({"relays"});
  EXPECT_EQ(listed.exit_code, 1);
  EXPECT_THAT(listed.standard_error, HasSubstr("migrate up"));
  ASSERT_EQ(stage->Run({"migrate", "up", "--table", std::string(kTable)}).exit_code, 0);
  ASSERT_TRUE(WaitFor([&] { return said("heartbeats go on") == 1; })) << relay->Errors();
  EXPECT_EQ(said("heartbeats are off"), 1u);
  EXPECT_EQ(Json::parse(stage->Run({"relays", "--json"}).standard_output).at("relays").size(), 1u);
}

}  // namespace
}  // namespace outbox::testing
