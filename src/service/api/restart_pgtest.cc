// A database that is restarted under the service: readers do not notice.
#include <thread>

#include "service/api/api_suite.h"
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

}  // namespace
}  // namespace outbox::service
