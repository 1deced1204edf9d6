// A server that repeats what it was sent: nothing of it may come out again.
#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <string>
#include <vector>

#include "base/text.h"
#include "relay/engine.h"
#include "sink/http/http_test_sink.h"
#include "store/memory/memory_store.h"
#include "tests/support/http_server.h"
#include "tests/support/matchers.h"
#include "tests/support/wait.h"

namespace outbox::sink {
namespace {

using outbox::testing::HttpServer;
using outbox::testing::WaitFor;
using ::testing::HasSubstr;
using ::testing::Not;

class Listener final : public RelayObserver {
 public:
  void OnPublished(const Message&, const Status& result, Duration) override {
    Add(result.ToString());
  }
  void OnStateChanged(std::string_view, RelayState, std::string_view why) override { Add(why); }
  void OnDead(const Message&, const Status& result) override { Add(result.ToString()); }

  std::string Told() const {
    const std::lock_guard lock(mutex_);
    return told_;
  }

 private:
  void Add(std::string_view text) {
    const std::lock_guard lock(mutex_);
    told_ += base::StrCat(text, "\n");
  }

  mutable std::mutex mutex_;
  std::string told_;
};

class HttpEcho : public ::testing::TestWithParam<int> {};

TEST_P(HttpEcho, NoPayloadReachesLogsPausesOrLastErrors) {
  const auto server = HttpServer::Start({.handler = [](const HttpServer::Request& request) {
    return HttpServer::Reply{.status = GetParam(), .body = "what is this: " + request.body};
  }});
  ASSERT_NE(server, nullptr);
  for (const char* options : {"", "&outbox.batch=true", "&outbox.body=plain",
                              "&outbox.excerpt=1024", "&outbox.excerpt=1024&outbox.body=plain"}) {
    store::MemoryStore store;
    for (int i = 0; i < 5; ++i) {
      store.Put({.topic = "test.message.put.v1",
                 .payload = base::StrCat(R"({"name":"CANARY-)", i, R"("})")});
    }
    const auto listener = std::make_shared<Listener>();
    RelayOptions relay_options{.table = "t"};
    relay_options.retry.attempts_max = 1;
    const auto engine = *relay::Engine::Start(
        relay_options, "t", store.OpenRelay({.table = "t", .relay_id = "r"}),
        SinkAt(base::StrCat(server->url(), "/?outbox.allow=127.0.0.0/8", options)), listener);
    const std::string answered = base::StrCat("answered ", GetParam());
    EXPECT_TRUE(WaitFor([&] { return listener->Told().find(answered) != std::string::npos; }))
        << listener->Told();
    EXPECT_OK(engine->Stop());
    EXPECT_THAT(listener->Told(), Not(HasSubstr("CANARY"))) << options;
    for (const auto& row : store.Rows()) {
      EXPECT_THAT(row.last_error, Not(HasSubstr("CANARY"))) << options;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Answers, HttpEcho, ::testing::Values(400, 401, 500));

// The first request is held until the second has been answered with what was in the first.
TEST(HttpExcerpts, RepeatNoOtherRequestInFlight) {
  std::mutex mutex;
  std::condition_variable changed;
  std::string first;
  bool answered = false;
  const auto server = HttpServer::Start({.handler = [&](const HttpServer::Request& request) {
    std::unique_lock lock(mutex);
    if (request.headers.at("outbox-seq") == "1") {
      first = request.body;
      changed.notify_all();
      changed.wait_for(lock, outbox::testing::kPatience, [&] { return answered; });
      return HttpServer::Reply{};
    }
    changed.wait_for(lock, outbox::testing::kPatience, [&] { return !first.empty(); });
    return HttpServer::Reply{.status = 422, .body = "I have " + first + " already"};
  }});
  ASSERT_NE(server, nullptr);
  const auto sink =
      SinkAt(base::StrCat(server->url(), "/?outbox.allow=127.0.0.0/8&outbox.excerpt=1024&",
                          "outbox.body=plain&outbox.timeout=1m"));
  std::vector<Message> messages = SomeMessages(2);
  messages[0].payload = R"({"name":"CANARY of one tenant"})";
  messages[1].payload = R"({"name":"another"})";
  const auto publish = [&](std::size_t i) {
    return std::async(std::launch::async, [&, i] { return PublishAll(*sink, {messages[i]})[0]; });
  };
  auto held = publish(0);
  const Status refused = publish(1).get();
  {
    const std::lock_guard lock(mutex);
    answered = true;
  }
  changed.notify_all();
  EXPECT_OK(held.get());
  EXPECT_THAT(refused.message(), HasSubstr("answered 422"));
  EXPECT_THAT(refused.message(), HasSubstr("[the answer repeats what was sent]"));
  EXPECT_THAT(refused.message(), Not(HasSubstr("CANARY")));
}

TEST(HttpSecrets, StayHiddenWhereverTheAnswerIsCut) {
  const auto server = HttpServer::Start({.handler = [](const HttpServer::Request& request) {
    std::string text(std::stoul(request.headers.at("outbox-seq")), '.');
    text += base::StrCat("Cannot POST ", request.target, " with ", request.headers.at("x-api-key"));
    return HttpServer::Reply{.status = 404, .body = text};
  }});
  ASSERT_NE(server, nullptr);
  const auto sink = SinkAt(base::StrCat(server->url(), "/hook/CANARY-IN-PATH?sig=CANARY-IN-QUERY",
                                        "&outbox.allow=127.0.0.0/8&outbox.excerpt=1024",
                                        "&outbox.header.X-Api-Key=CANARY-IN-HEADER"));
  std::vector<Message> messages = SomeMessages(100);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    messages[i].seq = 940 + static_cast<std::int64_t>(i);
  }
  for (const Status& status : PublishAll(*sink, messages)) {
    EXPECT_THAT(status.message(), HasSubstr("answered 404"));
    EXPECT_THAT(status.message(), Not(HasSubstr("CANA")));
  }
}

}  // namespace
}  // namespace outbox::sink
