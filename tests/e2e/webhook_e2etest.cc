// Webhooks: a slow answer keeps no other message waiting, and a crash repeats only what was not
// answered.
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <map>
#include <mutex>

#include "base/text.h"
#include "tests/e2e/support/dialects.h"
#include "tests/e2e/support/producer.h"
#include "tests/support/http_server.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

class Webhook : public OnDialect {};
OUTBOX_ON_EVERY_DIALECT(Webhook);

TEST_P(Webhook, ACrashRepeatsOnlyWhatWasNotAnswered) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  std::atomic<bool> released = false;
  std::atomic<int> asked = 0;
  std::mutex mutex;
  std::string slow;
  const auto server = HttpServer::Start({.handler = [&](const HttpServer::Request& request) {
    if (++asked == 1) {
      {
        const std::lock_guard lock(mutex);
        slow = request.headers.at("outbox-id");
      }
      WaitFor([&] { return released.load(); }, 3 * kPatience);
    }
    return HttpServer::Reply{};
  }});
  ASSERT_NE(server, nullptr);
  // The slow one stays unanswered for longer than the test takes.
  const Flags flags{"--sink",
                    base::StrCat(server->url(), "/?outbox.allow=127.0.0.0/8&outbox.timeout=9m")};
  const ProcessOptions patient{.environment = {{"OUTBOX_RELAY_DISPATCH_TIMEOUT", "9m"}}};
  ASSERT_TRUE(Produce(stage->sql(), {.rollback_percent = 0}, 10));
  const auto first = stage->StartRelay("first", flags, patient);
  EXPECT_TRUE(WaitFor([&] { return stage->Count("delivered") == 99; }))
      << stage->Count("delivered") << first->Errors();
  EXPECT_FALSE(released);
  first->Kill();
  released = true;
  ASSERT_TRUE(stage->EndLeases());

  const auto second = stage->StartRelay("second", flags, patient);
  EXPECT_TRUE(WaitFor([&] { return stage->Count("delivered") == 100; })) << second->Errors();
  std::map<std::string, int> sent;
  for (const auto& request : server->requests()) ++sent[request.headers.at("outbox-id")];
  EXPECT_EQ(sent.size(), 100u);
  const std::lock_guard lock(mutex);
  for (const auto& [id, times] : sent) EXPECT_EQ(times, id == slow ? 2 : 1) << id;
}

// The sum over all rows.
std::int64_t Attempts(Stage& stage) {
  return stage.sql().Number("SELECT sum(attempts) FROM orders_outbox");
}

TEST_P(Webhook, AnEndpointThatIsGoneIsLeftAloneByEveryProcessAndAfterARestartUntilResumed) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  std::atomic<bool> gone = true;
  const auto server = HttpServer::Start({.handler = [&](const HttpServer::Request&) {
    return HttpServer::Reply{.status = gone ? 410 : 200, .body = "token hunter2 is void"};
  }});
  ASSERT_NE(server, nullptr);
  const Flags flags{"--sink",
                    base::StrCat(server->url(), "/hook-hunter2?outbox.allow=127.0.0.0/8")};
  const ProcessOptions quick{.environment = {{"OUTBOX_RELAY_HEARTBEAT_INTERVAL", "100ms"},
                                             {"OUTBOX_RELAY_PROBE_MIN", "1ms"},
                                             {"OUTBOX_RELAY_PROBE_MAX", "10ms"}}};
  ASSERT_TRUE(Produce(stage->sql(), {.rollback_percent = 0}, 10));
  const auto paused = [&] {
    const Finished listed = stage->Run({"relays"});
    return listed.standard_output + listed.standard_error;
  };
  const std::string said = base::StrCat("127.0.0.1:", server->port(), " answered 410: it is gone");
  {
    const auto first = stage->StartRelay("first", flags, quick);
    ASSERT_TRUE(WaitFor([&] { return paused().find(said) != std::string::npos; }))
        << paused() << first->Errors();
    EXPECT_EQ(paused().find("hunter2"), std::string::npos) << paused();
    EXPECT_EQ(first->Errors().find("hunter2"), std::string::npos) << first->Errors();
    first->Signal(SIGTERM);
    EXPECT_EQ(first->Wait(kPatience), 0) << first->Errors();
  }
  const std::size_t asked = server->requests().size();
  ASSERT_GE(asked, 1u);
  const auto second = stage->StartRelay("second", flags, quick);
  const auto third = stage->StartRelay("third", flags, quick);
  const auto both_paused = [&] {
    const std::string listed = stage->Run({"relays", "--json"}).standard_output;
    std::size_t count = 0;
    for (std::size_t at = 0; (at = listed.find(R"("state":"paused")", at)) != std::string::npos;) {
      ++at, ++count;
    }
    return count == 2;
  };
  EXPECT_TRUE(WaitFor(both_paused)) << stage->Run({"relays", "--json"}).standard_output;
  EXPECT_EQ(server->requests().size(), asked);
  EXPECT_EQ(stage->Count("pending"), 100);
  EXPECT_EQ(Attempts(*stage), 0);

  gone = false;
  EXPECT_EQ(stage->Run({"resume", "--table", std::string(kTable)}).exit_code, 0);
  EXPECT_TRUE(WaitFor([&] { return stage->Count("delivered") == 100; })) << second->Errors();
}

}  // namespace
}  // namespace outbox::testing
