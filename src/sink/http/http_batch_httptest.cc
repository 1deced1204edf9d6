#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "sink/http/http_test_sink.h"
#include "tests/support/http_server.h"
#include "tests/support/matchers.h"

namespace outbox::sink {
namespace {

using outbox::testing::HttpServer;
using ::testing::HasSubstr;
using ::testing::Not;
using Reply = HttpServer::Reply;

std::size_t EventsIn(const HttpServer::Request& request) {
  return nlohmann::json::parse(request.body).size();
}

class HttpBatch : public ::testing::Test {
 protected:
  void Answer(HttpServer::Handler handler) {
    server_ = HttpServer::Start({.handler = std::move(handler)});
    ASSERT_NE(server_, nullptr);
  }
  std::shared_ptr<Sink> Batching(const std::string& options = "") const {
    return SinkAt(base::StrCat(server_->url(), "/?outbox.allow=127.0.0.0/8&outbox.batch=true",
                               "&outbox.batch_max=1000", options));
  }
  // Every event that the server has taken.
  std::multiset<std::string> Taken() const {
    std::multiset<std::string> ids;
    for (const auto& request : server_->requests()) {
      if (request.body.find("BAD") != std::string::npos) continue;
      for (const auto& event : nlohmann::json::parse(request.body)) ids.insert(event.at("id"));
    }
    return ids;
  }

  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpBatch, ARefusedMessageTakesNoOthersAlong) {
  for (const int status : {400, 409, 413, 422}) {
    Answer([status](const HttpServer::Request& request) {
      const bool bad = request.body.find("BAD") != std::string::npos;
      return Reply{.status = bad ? status : 200};
    });
    std::vector<Message> messages = SomeMessages(50);
    messages[17].payload = R"({"is":"BAD"})";
    messages[18].payload = R"({"is":"BAD"})";
    const auto results = PublishAll(*Batching(), messages);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const bool bad = i == 17 || i == 18;
      EXPECT_EQ(results[i].disposition(), bad ? Disposition::kPermanent : Disposition::kNone)
          << i << ": " << results[i].ToString();
    }
    std::multiset<std::string> good;
    for (const Message& message : messages) {
      if (message.payload == "{}") good.insert(message.id.ToString());
    }
    EXPECT_EQ(Taken(), good) << "each exactly once";
    EXPECT_LT(server_->requests().size(), 25u);
  }
}

TEST_F(HttpBatch, IsHalvedUntilTheServerTakesItsSize) {
  Answer([](const HttpServer::Request& request) {
    return Reply{.status = EventsIn(request) > 7 ? 413 : 200};
  });
  for (const Status& status : PublishAll(*Batching(), SomeMessages(100))) EXPECT_OK(status);
}

TEST_F(HttpBatch, KeepsWithinItsBytes) {
  Answer({});
  std::vector<Message> messages = SomeMessages(40);
  messages[20].payload = "\"" + std::string(20'000, 'x') + "\"";
  for (const Status& status : PublishAll(*Batching("&outbox.batch_bytes=5000"), messages)) {
    EXPECT_OK(status);
  }
  std::size_t events = 0;
  std::size_t large = 0;
  for (const auto& request : server_->requests()) {
    events += EventsIn(request);
    if (request.body.size() <= 5000) continue;
    ++large;
    EXPECT_EQ(EventsIn(request), 1u) << "larger than any batch may be: alone";
  }
  EXPECT_EQ(events, 40u);
  EXPECT_EQ(large, 1u);
  EXPECT_LT(server_->requests().size(), 10u);
}

TEST_F(HttpBatch, WhatTheTimeDoesNotSufficeForIsNotCharged) {
  Answer([](const HttpServer::Request& request) {
    if (EventsIn(request) < 8) return Reply{.ending = HttpServer::Ending::kHang};
    return Reply{.status = 400};
  });
  const auto results = PublishAll(*Batching(), SomeMessages(8), std::chrono::seconds(5));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(results[i].disposition(), Disposition::kInDoubt) << results[i].ToString();
  }
  for (std::size_t i = 4; i < 8; ++i) {
    EXPECT_EQ(results[i].code(), Code::kNotAttempted) << results[i].ToString();
  }
}

TEST_F(HttpBatch, AnOutageWhileItIsHalvedIsNoMessagesFault) {
  Answer([](const HttpServer::Request& request) {
    return Reply{.status = EventsIn(request) == 1 ? 401 : 400, .body = "whose?"};
  });
  const auto results = PublishAll(*Batching(), SomeMessages(3));
  EXPECT_EQ(results[0].disposition(), Disposition::kSinkDown) << results[0].ToString();
  EXPECT_EQ(results[0].native(), "HTTP 401");
  EXPECT_THAT(results[0].message(), HasSubstr("answered 401"));
  EXPECT_EQ(results[1].code(), Code::kNotAttempted);
  EXPECT_EQ(results[2].code(), Code::kNotAttempted);
  EXPECT_EQ(server_->requests().size(), 2u);
}

TEST_F(HttpBatch, AnAddressThatIsWrongKillsNoMessage) {
  for (const int status : {301, 401, 403, 404, 410}) {
    Answer([status](const HttpServer::Request&) { return Reply{.status = status}; });
    for (const Status& result : PublishAll(*Batching(), SomeMessages(20))) {
      EXPECT_EQ(result.disposition(), Disposition::kSinkDown) << result.ToString();
    }
    EXPECT_EQ(server_->requests().size(), 1u);
  }
}

TEST_F(HttpBatch, FindsTheMessageThatAVerdictIsAbout) {
  const std::vector<std::pair<std::string, Disposition>> cases{
      {"404:message", Disposition::kPermanent}, {"404:retry", Disposition::kRetry}};
  for (const auto& [verdict, disposition] : cases) {
    Answer([](const HttpServer::Request& request) {
      return Reply{.status = request.body.find("BAD") != std::string::npos ? 404 : 200};
    });
    std::vector<Message> messages = SomeMessages(20);
    messages[7].payload = R"({"is":"BAD"})";
    const auto results = PublishAll(*Batching("&outbox.verdicts=" + verdict), messages);
    for (std::size_t i = 0; i < results.size(); ++i) {
      EXPECT_EQ(results[i].disposition(), i == 7 ? disposition : Disposition::kNone)
          << i << ": " << results[i].ToString();
    }
  }
}

TEST_F(HttpBatch, TellsNoMessageWhatTheServerSaidOfOthers) {
  Answer([](const HttpServer::Request& request) {
    return Reply{.status = 500, .body = "odd: " + request.body};
  });
  std::vector<Message> messages = SomeMessages(3);
  messages[1].payload = R"({"name":"CANARY"})";
  for (const Status& status : PublishAll(*Batching("&outbox.excerpt=1024"), messages)) {
    EXPECT_THAT(status.message(), HasSubstr("answered 500"));
    EXPECT_THAT(status.message(), Not(HasSubstr("odd")));
  }
}

TEST_F(HttpBatch, ASingleMessageMayBeToldWhatTheServerSaid) {
  Answer([](const HttpServer::Request&) { return Reply{.status = 422, .body = "no price"}; });
  EXPECT_THAT(PublishOne(*Batching("&outbox.excerpt=100")).message(), HasSubstr(": no price"));
  EXPECT_THAT(PublishOne(*Batching()).message(), Not(HasSubstr("no price")));
}

}  // namespace
}  // namespace outbox::sink
