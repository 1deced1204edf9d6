#include "message/routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace outbox::message {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Names(const Routes& routes, std::string_view topic) {
  std::vector<std::string> names;
  for (const Routes::Target& target : routes.For(topic)) names.emplace_back(target.destination);
  return names;
}

TEST(Routes, ATopicGoesToTheSinksOfEveryRouteThatMatches) {
  const Routes routes({{.topics = "orders.*.created.v*", .destinations = {"rabbit", "hook"}},
                       {.topics = "billing.#", .destinations = {"kafka"}},
                       {.topics = "orders.#", .destinations = {"audit", "rabbit"}}});
  EXPECT_THAT(Names(routes, "orders.order.created.v2"), ElementsAre("rabbit", "hook", "audit"));
  EXPECT_THAT(Names(routes, "orders.order.paid.v1"), ElementsAre("audit", "rabbit"));
  EXPECT_THAT(Names(routes, "billing.invoice.sent.v1"), ElementsAre("kafka"));
  EXPECT_THAT(Names(routes, "stock.item.moved.v1"), IsEmpty());
}

TEST(Routes, TheFirstRouteToASinkSaysAboutTheOrder) {
  const Routes routes({{.topics = "a.#", .destinations = {"x"}, .ordered = true},
                       {.topics = "#", .destinations = {"x", "y"}, .waits_for_dead = false}});
  const auto targets = routes.For("a.b.c.v1");
  ASSERT_EQ(targets.size(), 2u);
  EXPECT_TRUE(targets[0].ordered);
  EXPECT_TRUE(targets[0].waits_for_dead);
  EXPECT_FALSE(targets[1].ordered);
}

TEST(Routes, AreExhaustiveWhenOneTakesEverything) {
  EXPECT_TRUE(Routes({{.topics = "a.#"}, {.topics = "#"}}).exhaustive());
  EXPECT_FALSE(Routes({{.topics = "a.#"}}).exhaustive());
  EXPECT_FALSE(Routes({}).exhaustive());
}

}  // namespace
}  // namespace outbox::message
