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
  for (const int status : {400, 404, 413, 422}) {
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

TEST_F(HttpBatch, WithoutTimeToFindTheBadOneAllAreRetried) {
  Answer([](const HttpServer::Request& request) {
    if (EventsIn(request) < 8) return Reply{.ending = HttpServer::Ending::kHang};
    return Reply{.status = 400};
  });
  for (const Status& status : PublishAll(*Batching(), SomeMessages(8), std::chrono::seconds(5))) {
    EXPECT_THAT(status.disposition(), ::testing::AnyOf(Disposition::kRetry, Disposition::kInDoubt))
        << status.ToString();
  }
}

TEST_F(HttpBatch, AnOutageWhileItIsHalvedIsNoMessagesFault) {
  Answer([](const HttpServer::Request& request) {
    const std::size_t events = EventsIn(request);
    return Reply{.status = events == 2 || events == 3 ? 400 : 401, .body = "whose?"};
  });
  // Of both requests one is refused; the other, of a single message, meets the outage.
  std::vector<Message> messages = SomeMessages(3);
  messages[2].payload = "\"" + std::string(2000, 'x') + "\"";
  const auto results = PublishAll(*Batching("&outbox.batch_bytes=2000"), messages);
  for (const Status& status : results) {
    EXPECT_EQ(status.disposition(), Disposition::kSinkDown) << status.ToString();
    EXPECT_EQ(status.native(), "HTTP 401");
  }
  EXPECT_THAT(results[2].message(), HasSubstr("whose?"));
  EXPECT_THAT(results[0].message(), Not(HasSubstr("whose?")));
}

TEST_F(HttpBatch, TellsNoMessageWhatTheServerSaidOfOthers) {
  Answer([](const HttpServer::Request& request) {
    return Reply{.status = 500, .body = "odd: " + request.body};
  });
  std::vector<Message> messages = SomeMessages(3);
  messages[1].payload = R"({"name":"CANARY"})";
  for (const Status& status : PublishAll(*Batching(), messages)) {
    EXPECT_THAT(status.message(), HasSubstr("answered 500"));
    EXPECT_THAT(status.message(), Not(HasSubstr("odd")));
  }
}

TEST_F(HttpBatch, ASingleMessageIsToldWhatTheServerSaid) {
  Answer([](const HttpServer::Request&) { return Reply{.status = 422, .body = "no price"}; });
  EXPECT_THAT(PublishOne(*Batching()).message(), HasSubstr("answered 422: no price"));
}

}  // namespace
}  // namespace outbox::sink
