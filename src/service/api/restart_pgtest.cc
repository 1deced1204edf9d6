// A database that is restarted under the service: readers do not notice.
#include <thread>

#include "service/api/api_suite.h"
#include "service/metrics/scrape.h"
#include "tests/support/postgres.h"

namespace outbox::service {
namespace {

std::unique_ptr<outbox::testing::PrivatePostgres> restarted_server;

class RestartSuite : public ApiSuite {
 protected:
  void TearDown() override {
    ApiSuite::TearDown();
    restarted_server.reset();
  }
  // Several sessions for each table, idle afterwards.
  void WarmUp() const {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 5; ++n) {
          EXPECT_EQ(Plain("GET", kNotifications, TokenOf(kAnn)).status, 200);
          EXPECT_EQ(Plain("GET", Messages(orders_), OperatorToken()).status, 200);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
};
INSTANTIATE_TEST_SUITE_P(On, RestartSuite,
                         ::testing::Values(ApiParam{
                             "postgres",
                             [] {
                               restarted_server = outbox::testing::PrivatePostgres::Start();
                               return restarted_server->url();
                             },
                             [] {
                               return std::string(outbox::testing::SharedPostgresUrl().empty()
                                                      ? "no PostgreSQL server: run through ctest"
                                                      : "");
                             }}),
                         ApiParamName);

TEST_P(RestartSuite, NoCallFailsOnceTheDatabaseIsBack) {
  StartService();
  const std::string ann = TokenOf(kAnn);
  const Uuid id = Make(Made::kDead, notes_, kAnn);
  const auto expect_answers = [&](const char* after) {
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(Get(kNotifications, ann).status, 200) << after;
      EXPECT_EQ(Get(Messages(orders_), OperatorToken()).status, 200) << after;
      EXPECT_EQ(Get("/api/v1/operator/stats", OperatorToken()).status, 200) << after;
    }
  };
  WarmUp();
  auto killer = backend_->OpenSession(Soon());
  ASSERT_OK(killer);
  ASSERT_OK((*killer)->Execute(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND "
      "backend_type = 'client backend'"));
  expect_answers("ended sessions");

  WarmUp();
  restarted_server->Stop();
  const TestReply away = Call("GET", kNotifications, ann);
  ExpectRefused(503, "", away);
  EXPECT_EQ(away.header("retry-after"), "1");
  restarted_server->StartAgain();
  // A change is not tried twice, but does not meet a session of before either.
  EXPECT_EQ(Call("POST", NotePath(id, "/retry"), ann).status, 200);
  expect_answers("a restart");
}

TEST_P(RestartSuite, AnOutageMakesNoRelayThatStandsStill) {
  options_.stalled_after = std::chrono::seconds(1);
  StartService();
  Enqueue(orders_, {Note(kAnn)});
  session_.reset();
  restarted_server->Stop();
  EXPECT_TRUE(outbox::testing::WaitFor([&] {
    return testing::Scrape(metrics_->Exposition())
               .Find("outbox_store_errors_total", {{"table", orders_}, {"operation", "stats"}})
               .value_or(0) >= 1;
  }));
  EXPECT_THAT(Log(), ::testing::HasSubstr(R"("operation":"stats")"));
  EXPECT_EQ(Plain("GET", "/readyz").status, 503);
  restarted_server->StartAgain();
  TestReply ready;
  EXPECT_TRUE(outbox::testing::WaitFor([&] {
    ready = Plain("GET", "/readyz", OperatorToken());
    const Json report = Json::parse(ready.body, nullptr, false);
    if (!report.is_object() || !report.contains("tables")) return false;  // it took too long
    const Json table = report["tables"].at(1);
    return table.contains("stats") && table["stats"].value("oldest_age_ms", 0) > 5'000;
  })) << ready.body;
  EXPECT_EQ(ready.status, 200) << ready.body;
  EXPECT_TRUE(Json::parse(ready.body).at("relays").empty()) << ready.body;
}

TEST_P(RestartSuite, WhatTheDatabaseRefusesIsNotTheClientsFault) {
  StartService();
  const std::string ann = TokenOf(kAnn);
  const auto expect_internal = [&](const TestReply& reply, const std::string& why) {
    EXPECT_EQ(reply.status, 500) << reply.body;
    const Json problem = Json::parse(reply.body);
    EXPECT_FALSE(problem.contains("detail")) << reply.body;
    const std::string id = problem.at("instance");
    EXPECT_TRUE(outbox::testing::WaitFor([&] {
      std::istringstream lines(Log());
      for (std::string line; std::getline(lines, line);) {
        if (line.find(id) != std::string::npos) return line.find(why) != std::string::npos;
      }
      return false;
    })) << Log();
  };
  ASSERT_OK(session_->Execute("ALTER TABLE " + notes_ + " RENAME COLUMN topic TO subject"));
  expect_internal(Call("GET", kNotifications, ann), "topic");
  ASSERT_OK(session_->Execute("ALTER TABLE " + notes_ + " RENAME COLUMN subject TO topic"));
  ASSERT_OK(session_->Execute("ALTER TABLE " + notes_ + " RENAME TO elsewhere"));
  expect_internal(Call("GET", kNotifications, ann), "does not exist");
  expect_internal(Call("GET", Messages(notes_), OperatorToken()), "does not exist");
  ASSERT_OK(
      session_->Execute("ALTER TABLE elsewhere RENAME TO " + notes_.substr(notes_.find('.') + 1)));
  EXPECT_EQ(Call("GET", kNotifications, ann).status, 200);
}

}  // namespace
}  // namespace outbox::service
