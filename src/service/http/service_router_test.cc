#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/http/percent.h"
#include "service/http/router.h"

namespace outbox::service {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Handler Nothing() {
  return [](const Request&) { return Response{}; };
}

class RouterTest : public ::testing::Test {
 protected:
  RouterTest() {
    router_.Add(Method::kGet, "/", Nothing());
    router_.Add(Method::kGet, "/api/outbox", Nothing());
    router_.Add(Method::kGet, "/api/outbox/stats", Nothing());
    router_.Add(Method::kGet, "/api/outbox/{id}", Nothing());
    router_.Add(Method::kDelete, "/api/outbox/{entry}", Nothing());
    router_.Add(Method::kPost, "/api/outbox/{id}/retry", Nothing());
    router_.Add(Method::kGet, "/api/{table}/stats/all", Nothing());
  }
  RouteMatch Match(Method method, std::string_view path) const {
    const auto segments = SplitPath(path);
    EXPECT_TRUE(segments.has_value()) << path;
    return router_.Match(method, *segments);
  }
  std::string Pattern(Method method, std::string_view path) const {
    const RouteMatch match = Match(method, path);
    return match.route == nullptr ? "" : match.route->pattern;
  }

  Router router_;
};

TEST_F(RouterTest, LiteralsAndParametersAreFound) {
  EXPECT_EQ(Pattern(Method::kGet, "/"), "/");
  EXPECT_EQ(Pattern(Method::kGet, "/api/outbox"), "/api/outbox");
  const RouteMatch match = Match(Method::kPost, "/api/outbox/a%2Fb%20c/retry");
  ASSERT_NE(match.route, nullptr);
  EXPECT_EQ(match.params.at("id"), "a/b c");
}

TEST_F(RouterTest, ALiteralBeatsAParameter) {
  EXPECT_EQ(Pattern(Method::kGet, "/api/outbox/stats"), "/api/outbox/stats");
  EXPECT_EQ(Pattern(Method::kGet, "/api/outbox/stat"), "/api/outbox/{id}");
  EXPECT_THAT(Match(Method::kDelete, "/api/outbox/stats").allowed,
              ElementsAre(Method::kGet, Method::kHead, Method::kOptions));
}

TEST_F(RouterTest, AParameterIsTriedWhereTheLiteralLeadsNowhere) {
  const RouteMatch match = Match(Method::kGet, "/api/outbox/stats/all");
  ASSERT_NE(match.route, nullptr);
  EXPECT_EQ(match.route->pattern, "/api/{table}/stats/all");
  EXPECT_EQ(match.params.at("table"), "outbox");
  EXPECT_EQ(match.params.size(), 1u);
}

TEST_F(RouterTest, ParametersMayHaveOtherNamesForOtherMethods) {
  EXPECT_EQ(Match(Method::kGet, "/api/outbox/7").params.at("id"), "7");
  EXPECT_EQ(Match(Method::kDelete, "/api/outbox/7").params.at("entry"), "7");
}

TEST_F(RouterTest, OtherMethodsAreNotAllowedAndOtherPathsNotFound) {
  EXPECT_THAT(Match(Method::kPut, "/api/outbox/7").allowed,
              ElementsAre(Method::kGet, Method::kHead, Method::kDelete, Method::kOptions));
  EXPECT_THAT(Match(Method::kGet, "/api/outbox/7/retry").allowed,
              ElementsAre(Method::kPost, Method::kOptions));
  for (const char* path : {"/api", "/api/outbox/7/other", "/api/outbox/", "/api/outbox/7/",
                           "/api//7", "//", "/API/outbox", "/%7Bid%7D/x"}) {
    const RouteMatch match = Match(Method::kGet, path);
    EXPECT_EQ(match.route, nullptr) << path;
    EXPECT_THAT(match.allowed, IsEmpty()) << path;
  }
}

TEST_F(RouterTest, GetServesHead) {
  EXPECT_EQ(Pattern(Method::kHead, "/api/outbox"), "/api/outbox");
  EXPECT_EQ(Pattern(Method::kHead, "/api/outbox/7/retry"), "");
}

TEST_F(RouterTest, ARouteAddedTwiceIsABug) {
  EXPECT_DEATH(router_.Add(Method::kGet, "/api/outbox/{other}", Nothing()), "check failed");
  EXPECT_DEATH(router_.Add(Method::kGet, "no-slash", Nothing()), "check failed");
  EXPECT_DEATH(router_.Add(Method::kGet, "/a/{}", Nothing()), "check failed");
}

TEST(SplitPath, RefusesWhatCouldBeReadInTwoWays) {
  for (const char* path : {"", "a", "/.", "/..", "/a/../b", "/%2E%2e", "/%", "/%1", "/%g0", "/%00",
                           "/%0a", "/%7f", "/%ff", "/a b", "/\xc3\xa9"}) {
    EXPECT_FALSE(SplitPath(path).has_value()) << path;
  }
  EXPECT_THAT(*SplitPath("/a+b/%C3%A9/..."), ElementsAre("a+b", "é", "..."));
}

}  // namespace
}  // namespace outbox::service
