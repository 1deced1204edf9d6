// What strangers can not take away, and are not told.
#include "service/api/api_suite.h"
#include "service/api/tables.h"
#include "service/metrics/scrape.h"

namespace outbox::service {
namespace {

using ::testing::HasSubstr;

class EdgeSuite : public ApiSuite {
 protected:
  // Nobody of before is connected any more.
  void StartAlone() {
    StartService();
    EXPECT_TRUE(outbox::testing::WaitFor([&] {
      return testing::Scrape(metrics_->Exposition()).Find("outbox_http_connections", {}) == 0;
    }));
  }
};
INSTANTIATE_TEST_SUITE_P(On, EdgeSuite,
                         ::testing::Values(ApiParam{"sqlite", [] { return std::string(); }}),
                         ApiParamName);

TEST_P(EdgeSuite, CrowdsAtOneAddressDoNotReachTheOther) {
  options_.admin_listen = {"127.0.0.1:0"};
  options_.connections = 2;
  StartAlone();
  TestClient one(Port()), two(Port());
  for (TestClient* client : {&one, &two}) EXPECT_EQ(client->Get("/openapi.json").status, 200);
  EXPECT_EQ(TestClient(Port()).Get("/openapi.json").status, 200);
  EXPECT_TRUE(one.ClosedWithin(outbox::testing::kPatience)) << "it made room";
  for (const char* const path : {"/healthz", "/readyz", "/metrics"}) {
    EXPECT_EQ(Plain("GET", path, "", "", 1).status, 200) << path;
  }
}

TEST_P(EdgeSuite, OneAddressDoesNotTakeAllConnections) {
  options_.connections_per_address = 1;
  StartAlone();
  TestClient first(Port());
  EXPECT_EQ(first.Get("/healthz").status, 200);
  EXPECT_EQ(TestClient(Port()).Get("/healthz").status, 200);
  EXPECT_TRUE(first.ClosedWithin(outbox::testing::kPatience)) << "it made room";
  TestClient listener(Port());
  ASSERT_TRUE(listener.Send(base::StrCat("GET /api/v1/operator/events HTTP/1.1\r\nHost: h\r\n",
                                         "Authorization: Bearer ", OperatorToken(), "\r\n\r\n")));
  EXPECT_THAT(listener.ReadUntil("event: counters"), HasSubstr("event: counters"));
  EXPECT_EQ(TestClient(Port()).Read().status, 503) << "a listener is not idle";
}

TEST_P(EdgeSuite, DetailsOfReadinessAreForOperators) {
  StartService();
  board_->OnStateChanged(orders_, RelayState::kWaitingForSink, "amqp://broker.internal refused");
  for (const std::string& token : {std::string(), TokenOf(kAnn), std::string("nonsense")}) {
    const Json brief = GetJson("/readyz", token);
    EXPECT_EQ(brief.at("status"), "ready");
    EXPECT_FALSE(brief.contains("tables") || brief.contains("relays")) << brief;
  }
  const Json report = GetJson("/readyz", OperatorToken());
  EXPECT_EQ(report.at("tables").size(), 2u);
  EXPECT_EQ(report.at("relays").at(0).at("why"), "amqp://broker.internal refused");
  service_.reset();
  options_.admin_listen = {"127.0.0.1:0"};
  StartService();
  EXPECT_TRUE(Json::parse(Plain("GET", "/readyz", "", "", 1).body).contains("tables"));
}

TEST_P(EdgeSuite, WithoutAuthenticationAPageOfOthersSeesNoDetails) {
  options_.auth = {};
  options_.auth.none = true;
  StartService();
  const auto details = [&](const std::string& fields) {
    TestClient client(Port());
    EXPECT_TRUE(client.Send("GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\n" + fields + "\r\n"));
    return Json::parse(client.Read().body).contains("tables");
  };
  EXPECT_TRUE(details(""));
  EXPECT_FALSE(details("Origin: https://elsewhere.example\r\n"));

  service_.reset();
  options_.admin_listen = options_.listen;
  options_.listen.clear();
  StartService();
  EXPECT_TRUE(details(""));
  EXPECT_FALSE(details("Origin: https://elsewhere.example\r\n")) << "nor among operators";
}

TEST_P(EdgeSuite, APathIsTheSameHoweverItIsEncoded) {
  StartService();
  const std::string repair = "/v1/operator/tables/nothing/repair";
  for (const char* const api : {"/api", "/%61pi"}) {
    EXPECT_EQ(Plain("POST", api + repair, OperatorToken(), "[]").status, 400) << "it was read";
  }
}

TEST_P(EdgeSuite, ADatabaseThatIsGoneIsOurMistakeAndIsNotDescribed) {
  StartService();
  const std::string file = folder_.File("test.db");
  ASSERT_EQ(std::rename(file.c_str(), (file + ".away").c_str()), 0);
  const std::string pause = "/api/v1/operator/tables/" + orders_ + "/pause";
  for (const auto& [method, path] :
       std::vector<std::pair<std::string, std::string>>{{"GET", "/api/v1/operator/audit"},
                                                        {"GET", "/api/v1/operator/relays"},
                                                        {"POST", pause}}) {
    const TestReply reply = Call(method, path, OperatorToken());
    EXPECT_EQ(reply.status, 500) << path << reply.body;
    EXPECT_THAT(reply.body, ::testing::Not(HasSubstr("test.db"))) << path;
  }
  ASSERT_EQ(std::rename((file + ".away").c_str(), file.c_str()), 0);
  EXPECT_EQ(Get("/api/v1/operator/audit", OperatorToken()).status, 200);
}

TEST_P(EdgeSuite, ASessionIsKeptForEachTableAndAFewMore) {
  Tables tables(*backend_, {orders_, notes_});
  for (const std::string& table : {orders_, notes_}) {
    std::vector<Tables::Session> borrowed;
    for (int i = 0; i < 10; ++i) {
      auto session = tables.Borrow(table, Soon());
      ASSERT_OK(session);
      borrowed.push_back(*std::move(session));
    }
  }
  EXPECT_EQ(tables.idle(), 7u) << "six of the first table, one of the other";
  const auto again = tables.Borrow(notes_, Soon());
  EXPECT_EQ(tables.idle(), 6u);
}

TEST_P(EdgeSuite, NotReadyFromTheMomentItIsToEnd) {
  StartService();
  EXPECT_EQ(GetJson("/readyz", "").at("status"), "ready");
  service_->BeginStop();
  const TestReply reply = Call("GET", "/readyz", "");
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(Json::parse(reply.body).at("status"), "stopping");
  EXPECT_EQ(Get(Messages(orders_), OperatorToken()).status, 200) << "the rest goes on";
}

TEST_P(EdgeSuite, RefusedTokensAreLimitedByAddress) {
  options_.refusal_limit = 1;
  options_.refusal_burst = 3;
  StartService();
  TestReply reply;
  int refused = 0;
  for (int i = 0; i < 200 && reply.status != 429; ++i) {
    reply = Get("/api/v1/tables", "nonsense");
    refused += reply.status == 401 ? 1 : 0;
  }
  EXPECT_GE(refused, 3);
  EXPECT_EQ(reply.status, 429);
  EXPECT_EQ(reply.header("retry-after"), "1");
  EXPECT_EQ(Json::parse(reply.body).at("code"), "rate_limited");
  EXPECT_EQ(Get("/api/v1/tables", TokenOf(kAnn)).status, 200) << "a good one from there";
}

// Whoever may have tokens made could otherwise ask as often as there are tokens.
TEST_P(EdgeSuite, FreshTokensOfOneSubjectShareItsBudget) {
  options_.rate_limit = 1;
  options_.rate_burst = 5;
  StartService();
  const auto issued = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const auto fresh = [&](const std::string& subject, const Uuid& tenant, int number) {
    return Token({.subject = subject,
                  .tenant = tenant,
                  .permissions = {std::string(permission::kMessagesRead)},
                  .expires = issued + std::chrono::hours(1) + std::chrono::seconds(number)});
  };
  ASSERT_NE(fresh("ann", kAnn, 1), fresh("ann", kAnn, 2));
  const auto start = std::chrono::steady_clock::now();
  int served = 0;
  TestReply last;
  for (int i = 0; i < 1000; ++i) {
    last = Plain("GET", "/api/v1/tables", fresh("ann", kAnn, i));
    served += last.status == 200 ? 1 : 0;
  }
  const auto took =
      std::chrono::ceil<std::chrono::seconds>(std::chrono::steady_clock::now() - start);
  EXPECT_GE(served, 5);
  EXPECT_LE(served, 5 + took.count());
  EXPECT_EQ(Get("/api/v1/tables", fresh("bob", kAnn, 0)).status, 200) << "another subject";
  EXPECT_EQ(Get("/api/v1/tables", fresh("ann", kBob, 0)).status, 200) << "of another tenant";
}

TEST_P(EdgeSuite, WithoutATokenNoBodyIsTaken) {
  StartService();
  for (const auto& [target, status] :
       {std::pair("/api/v1/operator/tables/" + orders_ + "/repair", 401),
        std::pair(std::string("/healthz"), 413)}) {
    TestClient client(Port());
    const std::string method = status == 401 ? "POST " : "GET ";
    ASSERT_TRUE(client.Send(method + target +
                            " HTTP/1.1\r\nHost: test\r\nContent-Length: 1000000\r\n\r\n"));
    EXPECT_EQ(client.Read().status, status) << target;
  }
}

}  // namespace
}  // namespace outbox::service
