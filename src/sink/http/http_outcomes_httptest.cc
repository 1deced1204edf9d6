#include <gtest/gtest.h>

#include <ctime>
#include <future>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "sink/http/http_test_sink.h"
#include "tests/support/http_server.h"
#include "tests/support/matchers.h"
#include "tests/support/reserved_port.h"
#include "tests/support/wait.h"

namespace outbox::sink {
namespace {

using outbox::testing::HttpServer;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;
using Ending = HttpServer::Ending;
using Reply = HttpServer::Reply;

constexpr const char* kAllow = "outbox.allow=127.0.0.0/8";

std::string HttpDate(std::time_t at) {
  std::tm parts{};
  gmtime_r(&at, &parts);
  char text[64];
  std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return text;
}

// Answers as the first part of the path says.
Reply Script(const HttpServer::Request& request) {
  const std::string path = request.target.substr(1, request.target.find_first_of("?/", 1) - 1);
  if (path == "ok") return {};
  if (path == "moved") return {.status = 301, .headers = {{"Location", "/ok"}}, .body = "there"};
  if (path == "busy") return {.status = 429, .headers = {{"Retry-After", "120"}}};
  if (path == "date") {
    return {.status = 503, .headers = {{"Retry-After", HttpDate(std::time(nullptr) + 600)}}};
  }
  if (path == "past") return {.status = 503, .headers = {{"Retry-After", HttpDate(1'000'000'000)}}};
  if (path == "never") return {.status = 503, .headers = {{"Retry-After", "9223372036854775807"}}};
  if (path == "reset") return {.ending = Ending::kReset};
  if (path == "cut") return {.body = "0123456789", .ending = Ending::kCutOff};
  if (path == "hang") return {.ending = Ending::kHang};
  if (path == "slow") return {.body = std::string(20, 'x'), .per_byte = milliseconds(5)};
  if (path == "drip") return {.body = std::string(100'000, 'x'), .per_byte = milliseconds(20)};
  if (path == "large") return {.status = 500, .body = std::string(900'000, 'y')};
  if (path == "huge") return {.body = std::string(5'000'000, 'z')};
  if (path == "hugebad") return {.status = 400, .body = std::string(5'000'000, 'z')};
  return {.status = std::atoi(path.c_str()), .body = "because \x1b[1m\r\n of " + path};
}

class HttpOutcomes : public ::testing::Test {
 protected:
  void SetUp() override {
    server_ = HttpServer::Start({.handler = Script});
    ASSERT_NE(server_, nullptr);
  }
  std::shared_ptr<Sink> At(const std::string& path, const std::string& options = "") const {
    return SinkAt(base::StrCat(server_->url(), path, "?", kAllow, options));
  }

  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpOutcomes, FollowTheStatus) {
  for (const char* path : {"/ok", "/200", "/201", "/202", "/299"}) {
    EXPECT_OK(PublishOne(*At(path)));
  }
  const std::vector<std::pair<const char*, Disposition>> cases{
      {"/moved", Disposition::kSinkDown}, {"/400", Disposition::kPermanent},
      {"/401", Disposition::kSinkDown},   {"/403", Disposition::kSinkDown},
      {"/404", Disposition::kSinkDown},   {"/408", Disposition::kRetry},
      {"/413", Disposition::kPermanent},  {"/422", Disposition::kPermanent},
      {"/425", Disposition::kRetry},      {"/429", Disposition::kRetry},
      {"/500", Disposition::kRetry},      {"/502", Disposition::kRetry}};
  for (const auto& [path, disposition] : cases) {
    const Status status = PublishOne(*At(path));
    EXPECT_EQ(status.disposition(), disposition) << path << ": " << status.ToString();
    EXPECT_FALSE(status.retry_after());
  }
  const Status status = PublishOne(*At("/500", "&outbox.excerpt=100"));
  EXPECT_THAT(status.message(), HasSubstr("127.0.0.1:" + std::to_string(server_->port())));
  EXPECT_THAT(status.message(), HasSubstr("because"));
  EXPECT_THAT(status.message(), Not(HasSubstr("\r")));
  EXPECT_THAT(status.message(), Not(HasSubstr("\x1b")));
}

TEST_F(HttpOutcomes, ARedirectIsNotFollowed) {
  const Status status = PublishOne(*At("/moved"));
  EXPECT_THAT(status.message(), HasSubstr("301"));
  ASSERT_EQ(server_->requests().size(), 1u);
  EXPECT_EQ(server_->requests()[0].target, "/moved");
}

TEST_F(HttpOutcomes, RetryAfterIsTakenInSecondsAndAsADate) {
  EXPECT_EQ(PublishOne(*At("/busy")).retry_after(), seconds(120));
  const auto until = PublishOne(*At("/date")).retry_after();
  ASSERT_TRUE(until);
  EXPECT_GT(*until, seconds(500));
  EXPECT_LE(*until, seconds(601));
  EXPECT_FALSE(PublishOne(*At("/past")).retry_after());
  EXPECT_EQ(PublishOne(*At("/never")).retry_after(), std::chrono::hours(24));
}

TEST_F(HttpOutcomes, AServerThatAsksToBeLeftAloneGetsNoMoreOfAnyCall) {
  const auto sink = At("/busy", "&outbox.concurrency=1");
  for (int call = 0; call < 5; ++call) {
    const Status status = PublishOne(*sink);
    EXPECT_EQ(status.disposition(), Disposition::kSinkDown) << status.ToString();
    ASSERT_TRUE(status.retry_after());
    EXPECT_LE(*status.retry_after(), seconds(120));
    EXPECT_GT(*status.retry_after(), seconds(0));
    EXPECT_EQ(status.native(), "HTTP 429");
    EXPECT_EQ(status.code(), call == 0 ? Code::kUnavailable : Code::kNotAttempted);
  }
  EXPECT_EQ(server_->requests().size(), 1u);
  // Another sink is another destination.
  EXPECT_OK(PublishOne(*At("/ok")));
}

TEST_F(HttpOutcomes, AnEndpointThatIsGoneWantsAPauseAndKillsNoMessage) {
  const auto sink = At("/410");
  for (int call = 0; call < 2; ++call) {
    const Status status = PublishOne(*sink);
    EXPECT_EQ(status.disposition(), Disposition::kSinkDown) << status.ToString();
    EXPECT_THAT(status.message(), HasSubstr("answered 410: it is gone and wants no more messages"));
    EXPECT_TRUE(status.wants_pause());
  }
  EXPECT_EQ(server_->requests().size(), 2u) << "whoever resumes it has it tried at once";
  EXPECT_FALSE(PublishOne(*At("/410", "&outbox.verdicts=410:down")).wants_pause());
}

TEST_F(HttpOutcomes, AnAnswerMeansWhatTheVerdictsSay) {
  const std::string verdicts = "&outbox.verdicts=404:message,403:retry,422:retry,500:down";
  EXPECT_EQ(PublishOne(*At("/404", verdicts)).disposition(), Disposition::kPermanent);
  EXPECT_EQ(PublishOne(*At("/403", verdicts)).disposition(), Disposition::kRetry);
  EXPECT_EQ(PublishOne(*At("/422", verdicts)).disposition(), Disposition::kRetry);
  EXPECT_EQ(PublishOne(*At("/500", verdicts)).disposition(), Disposition::kSinkDown);
  EXPECT_EQ(PublishOne(*At("/401", verdicts)).disposition(), Disposition::kSinkDown);
  EXPECT_EQ(PublishOne(*At("/502", verdicts)).disposition(), Disposition::kRetry);
  const auto busy = At("/busy", "&outbox.verdicts=429:retry");
  EXPECT_EQ(PublishOne(*busy).disposition(), Disposition::kRetry);
  EXPECT_EQ(PublishOne(*busy).retry_after(), seconds(120)) << "of its message only";
}

TEST_F(HttpOutcomes, WhatWasSentAndNotAnsweredIsInDoubt) {
  for (const char* path : {"/reset", "/cut"}) {
    const Status status = PublishOne(*At(path));
    EXPECT_EQ(status.disposition(), Disposition::kInDoubt) << path << ": " << status.ToString();
  }
}

TEST_F(HttpOutcomes, ARequestHasItsOwnTimeout) {
  const auto sink = At("/hang", "&outbox.timeout=5s");
  auto call =
      std::async(std::launch::async, [&] { return PublishOne(*sink, std::chrono::minutes(5)); });
  const bool ended = call.wait_for(outbox::testing::kPatience) == std::future_status::ready;
  server_->Stop();
  EXPECT_TRUE(ended);
  const Status status = call.get();
  EXPECT_EQ(status.disposition(), Disposition::kInDoubt) << status.ToString();
  EXPECT_EQ(status.code(), Code::kDeadline);
}

TEST_F(HttpOutcomes, TheDeadlineEndsEverything) {
  for (const char* path : {"/hang", "/drip"}) {
    const auto sink = At(path, "&outbox.concurrency=2");
    const auto results = PublishAll(*sink, SomeMessages(5), seconds(4));
    EXPECT_EQ(results[0].disposition(), Disposition::kInDoubt) << results[0].ToString();
    EXPECT_EQ(results[1].disposition(), Disposition::kInDoubt) << results[1].ToString();
    for (std::size_t i = 2; i < 5; ++i) {
      EXPECT_EQ(results[i].disposition(), Disposition::kSinkDown)
          << "a message that was never sent costs no attempt: " << results[i].ToString();
    }
  }
}

TEST_F(HttpOutcomes, AnExpiredDeadlineSendsNothing) {
  const Status late = PublishOne(*At("/ok"), milliseconds(-1));
  EXPECT_EQ(late.disposition(), Disposition::kSinkDown) << late.ToString();
  EXPECT_EQ(server_->connections(), 0u);
}

TEST_F(HttpOutcomes, ASlowBodyIsReadToItsEnd) {
  const auto sink = At("/slow");
  EXPECT_OK(PublishOne(*sink));
  EXPECT_OK(PublishOne(*sink));
  EXPECT_EQ(server_->connections(), 1u);
}

TEST_F(HttpOutcomes, ALongBodyIsCutForTheTextAndTheConnectionStaysUsable) {
  const auto sink = At("/large");
  for (int i = 0; i < 3; ++i) {
    const Status status = PublishOne(*sink);
    EXPECT_EQ(status.disposition(), Disposition::kRetry);
    EXPECT_LT(status.message().size(), 1200u);
  }
  EXPECT_EQ(server_->connections(), 1u);
}

TEST_F(HttpOutcomes, AHugeBodyIsNotReadToItsEndAndTheStatusStands) {
  const auto sink = At("/huge");
  EXPECT_OK(PublishOne(*sink));
  EXPECT_OK(PublishOne(*sink));
  EXPECT_EQ(PublishOne(*At("/hugebad")).disposition(), Disposition::kPermanent);
}

TEST_F(HttpOutcomes, NobodyListeningIsASinkThatIsDown) {
  const outbox::testing::ReservedPort nobodys;
  const auto sink = SinkAt(base::StrCat("http://127.0.0.1:", nobodys.number(), "/?", kAllow));
  for (const Status& status : PublishAll(*sink, SomeMessages(100))) {
    EXPECT_EQ(status.disposition(), Disposition::kSinkDown) << status.ToString();
  }
}

TEST_F(HttpOutcomes, AnUnknownNameIsASinkThatIsDown) {
  const auto sink = SinkAt("http://no-such-host.invalid/");
  const Status status = PublishOne(*sink);
  EXPECT_EQ(status.disposition(), Disposition::kSinkDown) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr("no-such-host.invalid:80"));
}

TEST_F(HttpOutcomes, ManyMessagesShareAFewConnections) {
  const auto sink = At("/ok", "&outbox.concurrency=8");
  EXPECT_EQ(sink->traits().batch_max, 1u);
  EXPECT_EQ(sink->traits().concurrency, 8u);
  for (int round = 0; round < 3; ++round) {
    for (const Status& status : PublishAll(*sink, SomeMessages(100))) EXPECT_OK(status);
  }
  EXPECT_EQ(server_->requests().size(), 300u);
  EXPECT_LE(server_->connections(), 8u);
}

TEST_F(HttpOutcomes, TheRequestIsWhatTheAddressSays) {
  const auto sink =
      SinkAt(base::StrCat("http://us%20er:pass@127.0.0.1:", server_->port(), "/ok/p%20q?a=%2B1&",
                          kAllow, "&wait&outbox.header.X-Shop=north&outbox.body=plain"));
  Message message = SomeMessages(1)[0];
  message.headers = {{"x-line", "one\r\nx-two: 2"}, {"x-empty", ""}, {"host", "evil"}};
  ASSERT_OK(PublishAll(*sink, {message})[0]);
  const HttpServer::Request request = server_->requests().at(0);
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/ok/p%20q?a=%2B1&wait");
  EXPECT_EQ(request.headers.at("user-agent").substr(0, 8), "outboxd/");
  EXPECT_EQ(request.headers.at("content-type"), "application/json");
  EXPECT_EQ(request.headers.at("x-shop"), "north");
  EXPECT_EQ(request.headers.at("x-line"), "one%0D%0Ax-two: 2");
  EXPECT_EQ(request.headers.at("x-empty"), "");
  EXPECT_EQ(request.headers.at("host"), "127.0.0.1:" + std::to_string(server_->port()));
  EXPECT_EQ(request.headers.at("authorization"), "Basic dXMgZXI6cGFzcw==");
  EXPECT_FALSE(request.headers.contains("x-two"));
  EXPECT_FALSE(request.headers.contains("expect"));
}

TEST_F(HttpOutcomes, MessagesNotSentAreNotToldWhatTheServerSaidOfOthers) {
  const auto server = HttpServer::Start({.handler = [](const HttpServer::Request&) {
    return Reply{.status = 503, .headers = {{"Retry-After", "600"}}, .body = "whose is it?"};
  }});
  const auto sink =
      SinkAt(base::StrCat(server->url(), "/?outbox.concurrency=1&outbox.excerpt=100&", kAllow));
  const auto results = PublishAll(*sink, SomeMessages(5));
  EXPECT_EQ(server->requests().size(), 1u);
  EXPECT_THAT(results[0].message(), HasSubstr(": whose is"));
  for (std::size_t i = 1; i < results.size(); ++i) {
    EXPECT_EQ(results[i].code(), Code::kNotAttempted);
    EXPECT_THAT(results[i].message(),
                HasSubstr("answered 503 Service Unavailable, to be left alone for 10m"));
    EXPECT_THAT(results[i].message(), Not(HasSubstr("whose is")));
  }
}

TEST_F(HttpOutcomes, HeadersThatGrewTooLargeAreNotSent) {
  std::vector<Message> messages = SomeMessages(3);
  std::string umlauts;
  while (umlauts.size() < 30'000) umlauts += "ü";
  messages[1].headers = {{"x-large", umlauts}};
  const auto results = PublishAll(*At("/ok"), messages);
  EXPECT_OK(results[0]);
  EXPECT_OK(results[2]);
  EXPECT_EQ(results[1].disposition(), Disposition::kPermanent);
  EXPECT_THAT(results[1].message(), HasSubstr("over the limit of 61440"));
  EXPECT_EQ(server_->requests().size(), 2u);
  EXPECT_EQ(PublishAll(*At("/ok"), {messages[1]})[0].disposition(), Disposition::kPermanent);
  // Each counts more than its characters: over HTTP/2 the client would refuse to send these.
  messages[1].headers.clear();
  for (int i = 0; i < 1800; ++i)
    messages[1].headers.emplace_back(base::StrCat("x-", i), "01234567890123456789");
  EXPECT_EQ(PublishAll(*At("/ok"), {messages[1]})[0].disposition(), Disposition::kPermanent);
}

TEST_F(HttpOutcomes, ABatchIsOneRequest) {
  const auto sink = At("/ok", "&outbox.batch=true&outbox.batch_max=50&outbox.bearer=t0ken");
  EXPECT_EQ(sink->traits().batch_max, 50u);
  EXPECT_EQ(sink->traits().concurrency, 64u);
  for (const Status& status : PublishAll(*sink, SomeMessages(50))) EXPECT_OK(status);
  ASSERT_EQ(server_->requests().size(), 1u);
  const auto request = server_->requests()[0];
  EXPECT_EQ(request.headers.at("content-type"), "application/cloudevents-batch+json");
  EXPECT_EQ(request.headers.at("authorization"), "Bearer t0ken");
  EXPECT_EQ(nlohmann::json::parse(request.body).size(), 50u);
  for (const Status& status : PublishAll(*At("/503", "&outbox.batch=true"), SomeMessages(3))) {
    EXPECT_EQ(status.disposition(), Disposition::kRetry);
  }
}

TEST_F(HttpOutcomes, AnExplicitProxyIsUsedAndTheEnvironmentsIsNot) {
  setenv("http_proxy", "http://127.0.0.1:1", 1);
  EXPECT_OK(PublishOne(*At("/ok")));
  unsetenv("http_proxy");
  const auto proxy = HttpServer::Start({});
  ASSERT_NE(proxy, nullptr);
  EXPECT_OK(PublishOne(*SinkAt("http://hooks.example/ok?outbox.proxy=" + proxy->url())));
  EXPECT_EQ(proxy->requests().at(0).target, "http://hooks.example/ok");
}

}  // namespace
}  // namespace outbox::sink
