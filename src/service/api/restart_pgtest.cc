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

TEST_P(RestartSuite, NoCallFailsAfterTheDatabaseHasComeBack) {
  StartService();
  const Uuid dead = Make(Made::kDead, notes_, kAnn);
  const Uuid other = Make(Made::kDead, notes_, kAnn);
  for (const char* mode : {"fast", "immediate"}) {
    WarmUp();
    restarted_server->Stop(mode);
    const TestReply away = Call("GET", kNotifications, TokenOf(kAnn));
    ExpectRefused(503, "", away);
    EXPECT_EQ(away.header("retry-after"), "1");
    restarted_server->StartAgain();
    // A change is not tried twice, but does not meet a session of before either.
    const Uuid id = mode == std::string("fast") ? dead : other;
    EXPECT_EQ(Call("POST", NotePath(id, "/retry"), TokenOf(kAnn)).status, 200) << mode;
    for (int i = 0; i < 10; ++i) {
      EXPECT_EQ(Get(kNotifications, TokenOf(kAnn)).status, 200) << mode;
      EXPECT_EQ(Get(Messages(orders_), OperatorToken()).status, 200) << mode;
      EXPECT_EQ(Get("/api/v1/operator/stats", OperatorToken()).status, 200) << mode;
    }
  }
}

// Without a word from the server, the loss shows only when something is asked.
TEST_P(RestartSuite, ReadersDoNotNoticeThatTheirSessionsWereEnded) {
  StartService();
  WarmUp();
  auto killer = backend_->OpenSession(Soon());
  ASSERT_OK(killer);
  ASSERT_OK((*killer)->Execute(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND "
      "backend_type = 'client backend'"));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Get(kNotifications, TokenOf(kAnn)).status, 200);
}

}  // namespace
}  // namespace outbox::service
