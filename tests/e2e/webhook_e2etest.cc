// Webhooks: a slow answer keeps no other message waiting, and a crash repeats only what was not
// answered.
#include <gtest/gtest.h>

#include <atomic>
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

}  // namespace
}  // namespace outbox::testing
