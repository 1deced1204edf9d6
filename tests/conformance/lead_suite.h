// What else a relay asks of its store: leadership, whether it is done, and a wake-up.
#pragma once

#include <atomic>

#include "tests/conformance/claim_suite.h"

namespace outbox::conformance {

class LeadSuite : public StoreSuite {
 protected:
  static bool Leads(store::RelayStore& relay) {
    const auto leads = relay.TryLead(Soon());
    EXPECT_OK(leads);
    return leads.ok() && *leads;
  }

  static bool Drained(store::RelayStore& relay) {
    const auto drained = relay.Drained(Soon());
    EXPECT_OK(drained);
    return drained.ok() && *drained;
  }
};

TEST_P(LeadSuite, OnlyOneRelayLeadsAndItCanBeConfirmed) {
  const auto first = OpenRelay({.relay_id = "first"});
  const auto second = OpenRelay({.relay_id = "second"});
  EXPECT_TRUE(Leads(*first));
  EXPECT_FALSE(Leads(*second));
  EXPECT_TRUE(Leads(*first));
}

TEST_P(LeadSuite, LeadershipIsHandedOverWhenTheLeaderStops) {
  const auto first = OpenRelay({.relay_id = "first"});
  const auto second = OpenRelay({.relay_id = "second"});
  ASSERT_TRUE(Leads(*first));
  first->StopLeading();
  EXPECT_TRUE(Eventually([&] { return Leads(*second); }));
  EXPECT_FALSE(Leads(*first));
}

TEST_P(LeadSuite, LeadershipIsHandedOverWhenTheLeaderGoes) {
  auto first = OpenRelay({.relay_id = "first"});
  const auto second = OpenRelay({.relay_id = "second"});
  ASSERT_TRUE(Leads(*first));
  first.reset();
  EXPECT_TRUE(Eventually([&] { return Leads(*second); }));
}

TEST_P(LeadSuite, DrainedMeansNothingDueLeasedOrWaitingForARetry) {
  const auto relay = OpenRelay();
  EXPECT_TRUE(Drained(*relay));
  EnqueueNumbered(1);
  EXPECT_FALSE(Drained(*relay)) << "due";
  const auto claim = Next(*relay);
  EXPECT_FALSE(Drained(*relay)) << "leased";
  Settle(*claim, {{.index = 0, .kind = Kind::kRetry, .retry_in = 1h, .error = "x"}});
  EXPECT_FALSE(Drained(*relay)) << "waiting for a retry";
}

TEST_P(LeadSuite, DeliveredDeadAndDelayedMessagesDoNotKeepARelayFromDraining) {
  EnqueueNumbered(2);
  const auto relay = OpenRelay();
  Settle(*Next(*relay),
         {{.index = 0, .kind = Kind::kDelivered}, {.index = 1, .kind = Kind::kDead, .error = "x"}});
  NewMessage delayed = Event();
  delayed.delay = 1h;
  Enqueue(delayed);
  EXPECT_TRUE(Drained(*relay));
}

TEST_P(LeadSuite, DrainedLooksAtTheRelaysOwnMessagesOnly) {
  EnqueueNumbered(1);
  EXPECT_TRUE(Drained(*OpenRelay({.filter = {.name_space = "elsewhere"}})));
  EXPECT_TRUE(Drained(*OpenRelay({.filter = {.topics = {"billing.#"}}})));
  EXPECT_TRUE(Drained(*OpenRelay({.filter = {.tenant_id = Uuid::NewV7()}})));
  EXPECT_FALSE(Drained(*OpenRelay({.filter = {.topics = {"orders.#"}}})));
}

TEST_P(LeadSuite, AWatchFiresSoonAfterACommit) {
  const auto relay = OpenRelay();
  std::atomic<int> calls = 0;
  auto watch = relay->WatchForWork([&] { ++calls; }, Soon());
  if (!watch.ok()) GTEST_SKIP() << "no wake-up here: " << watch.error().ToString();
  const int before = calls;
  EnqueueNumbered(1);
  EXPECT_TRUE(Eventually([&] { return calls > before; }));
  watch->reset();
  const int at_end = calls;
  EnqueueNumbered(1);
  EXPECT_EQ(calls, at_end) << "a destroyed watch is silent";
}

}  // namespace outbox::conformance
