#include <gtest/gtest.h>

#include <atomic>

#include "base/text.h"
#include "sink/http/http_test_sink.h"
#include "tests/support/http_server.h"
#include "tests/support/matchers.h"

namespace outbox::sink {
namespace {

using outbox::testing::HttpServer;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(HttpGuard, NoSpellingOfThisMachineReachesIt) {
  const auto canary = HttpServer::Start({});
  ASSERT_NE(canary, nullptr);
  for (const char* host : {"127.0.0.1",
                           "127.1",
                           "127.0.1",
                           "2130706433",
                           "017700000001",
                           "0x7f000001",
                           "0x7f.1",
                           "0177.0.0.1",
                           "127.000.000.001",
                           "localhost",

                           "0.0.0.0",
                           "0",
                           "[::1]",
                           "[::]",
                           "[::ffff:127.0.0.1]",
                           "[::ffff:7f00:1]",
                           "[0:0:0:0:0:ffff:7f00:0001]",
                           "[::127.0.0.1]",
                           "[64:ff9b::7f00:1]",
                           "[2002:7f00:1::]",
                           "user@127.0.0.1",
                           "10.0.0.1",
                           "169.254.169.254",
                           "192.168.0.1",
                           "[fd00:ec2::254]",
                           "[fe80::1]"}) {
    const auto sink = SinkAt(base::StrCat("http://", host, ":", canary->port(), "/"));
    const Status status = PublishOne(*sink);
    EXPECT_EQ(status.disposition(), Disposition::kSinkDown) << host << ": " << status.ToString();
    EXPECT_THAT(status.message(), HasSubstr("address not allowed")) << host;
  }
  EXPECT_EQ(canary->connections(), 0u);
}

TEST(HttpGuard, TellsNoAddressBehindAName) {
  HttpOptions options = ReadHttpOptions(*SinkUri::Parse("http://hooks.example:81/")).value();
  options.resolve = [] { return "hooks.example:81:10.11.12.13"; };
  const Status status = PublishOne(*MakeHttpSink(std::move(options)));
  EXPECT_EQ(status.message(), "hooks.example:81: address not allowed");
  EXPECT_THAT(status.ToString() + status.hint(), Not(HasSubstr("10.11.12.13")));
}

// The name first leads to an allowed address, then to the canary's, then back.
TEST(HttpGuard, ANameThatChangesDoesNotReachTheCanary) {
  const auto server = HttpServer::Start({.handler = [](const HttpServer::Request&) {
    return HttpServer::Reply{.headers = {{"Connection", "close"}},
                             .ending = HttpServer::Ending::kClose};
  }});
  ASSERT_NE(server, nullptr);
  const auto canary = HttpServer::Start({.address = "127.0.0.2", .port = server->port()});
  ASSERT_NE(canary, nullptr);

  std::atomic<const char*> address = "127.0.0.1";
  HttpOptions options =
      ReadHttpOptions(*SinkUri::Parse(base::StrCat("http://rebind.example:", server->port(),
                                                   "/?outbox.allow=127.0.0.1/32")))
          .value();
  options.resolve = [&] {
    return base::StrCat("rebind.example:", server->port(), ":", address.load());
  };
  const auto sink = MakeHttpSink(std::move(options));
  for (int round = 0; round < 3; ++round) {
    address = "127.0.0.1";
    EXPECT_OK(PublishOne(*sink));
    address = "127.0.0.2";
    const Status status = PublishOne(*sink);
    EXPECT_EQ(status.disposition(), Disposition::kSinkDown) << status.ToString();
  }
  EXPECT_EQ(server->connections(), 3u);
  EXPECT_EQ(canary->connections(), 0u);
}

TEST(HttpGuard, AnAllowedAddressBesideABlockedOneIsUsed) {
  const auto server = HttpServer::Start({});
  ASSERT_NE(server, nullptr);
  const auto canary = HttpServer::Start({.address = "127.0.0.2", .port = server->port()});
  ASSERT_NE(canary, nullptr);
  HttpOptions options =
      ReadHttpOptions(*SinkUri::Parse(base::StrCat("http://two.example:", server->port(),
                                                   "/?outbox.allow=127.0.0.1")))
          .value();
  options.resolve = [&] {
    return base::StrCat("two.example:", server->port(), ":127.0.0.2,127.0.0.1");
  };
  EXPECT_OK(PublishOne(*MakeHttpSink(std::move(options))));
  EXPECT_EQ(canary->connections(), 0u);
}

}  // namespace
}  // namespace outbox::sink
