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

TEST(Routes, OneOrderedRouteToASinkIsEnoughForAnOrder) {
  const Routes routes({{.topics = "orders.*.created.v*", .destinations = {"rabbit", "partner"}},
                       {.topics = "#", .destinations = {"rabbit"}, .ordered = true}});
  const auto targets = routes.For("orders.order.created.v1");
  ASSERT_EQ(targets.size(), 2u);
  EXPECT_EQ(targets[0].destination, "rabbit");
  EXPECT_TRUE(targets[0].ordered);
  EXPECT_TRUE(targets[0].waits_for_dead);
  EXPECT_EQ(targets[1].destination, "partner");
  EXPECT_FALSE(targets[1].ordered);
}

TEST(Routes, AnOrderWaitsForTheDeadIfOneOfItsRoutesDoes) {
  const Route unordered{.topics = "a.#", .destinations = {"x"}};
  const Route skips{.topics = "#", .destinations = {"x"}, .ordered = true, .waits_for_dead = false};
  const Route waits{.topics = "a.b", .destinations = {"x"}, .ordered = true};
  const Routes routes({unordered, skips, waits});
  EXPECT_TRUE(routes.For("a.b")[0].waits_for_dead);
  EXPECT_FALSE(routes.For("a.c")[0].waits_for_dead) << "the unordered route has no say";
  EXPECT_FALSE(routes.For("c")[0].waits_for_dead);
  EXPECT_TRUE(Routes({waits, skips, unordered}).For("a.b")[0].waits_for_dead);
}

TEST(Routes, AreExhaustiveWhenOneTakesEverything) {
  EXPECT_TRUE(Routes({{.topics = "a.#"}, {.topics = "#"}}).exhaustive());
  EXPECT_FALSE(Routes({{.topics = "a.#"}}).exhaustive());
  EXPECT_FALSE(Routes({}).exhaustive());
}

}  // namespace
}  // namespace outbox::message
