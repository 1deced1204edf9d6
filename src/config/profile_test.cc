#include "config/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config.h"
#include "config/key.h"
#include "tests/support/matchers.h"

namespace outbox::config {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

// What a table gets that names this profile and says nothing else.
Settings Of(const std::string& profile, Environment environment = {}) {
  environment.insert(
      {{"OUTBOX_PROFILE", profile}, {"OUTBOX_RELAY_TABLES", "t"}, {"OUTBOX_RELAY_SINK", "null:"}});
  const auto config = Load({.environment = environment});
  EXPECT_OK(config);
  return config.ok() ? config->tables.at(0).settings : Settings{};
}

// The value of a key as text; "no such key" for a name that is not one.
std::string Printed(const Settings& settings, std::string_view name) {
  const Key* key = FindKey(name);
  return key == nullptr ? "no such key" : key->print(settings);
}

milliseconds Delay(const Settings& settings, int attempts, double random = 0) {
  return settings.relay.retry.DelayAfter(attempts, random);
}

TEST(Profile, DefaultIsTheOptionsOwn) {
  const Settings settings = Of("default");
  EXPECT_EQ(settings.relay.claim_mode, ClaimMode::kLease);
  EXPECT_EQ(settings.relay.poll_min, milliseconds(10));
  EXPECT_EQ(settings.relay.poll_max, milliseconds(100));
  EXPECT_EQ(settings.relay.batch_size, 500u);
  EXPECT_EQ(settings.relay.lease, seconds(8));
  EXPECT_EQ(settings.relay.retry.attempts_max, 20);
  EXPECT_EQ(settings.cleaner.retention, hours(24 * 7));
  EXPECT_EQ(settings.cleaner.dead_retention, milliseconds(0));
  EXPECT_FALSE(settings.relay.single_active);
  EXPECT_EQ(Printed(settings, "relay.body"), "") << "each sink has its own";
  EXPECT_EQ(Printed(settings, "relay.mandatory"), "true");
  EXPECT_EQ(settings.service.metrics.path, "/metrics");
}

TEST(Profile, OrdersIsAsTabled) {
  const Settings settings = Of("orders");
  EXPECT_EQ(settings.relay.claim_mode, ClaimMode::kTransaction);
  EXPECT_EQ(settings.relay.poll_min, milliseconds(200));
  EXPECT_EQ(settings.relay.poll_max, milliseconds(200));
  EXPECT_EQ(settings.relay.batch_size, 50u);
  EXPECT_EQ(settings.relay.retry.attempts_max, 6);
  const std::vector<int> waits{1, 2, 4, 8, 16};
  for (std::size_t i = 0; i < waits.size(); ++i) {
    EXPECT_EQ(Delay(settings, static_cast<int>(i) + 1, 0.9), seconds(waits[i])) << i;
  }
  EXPECT_FALSE(settings.relay.retry.Exhausted(5));
  EXPECT_TRUE(settings.relay.retry.Exhausted(6));
  EXPECT_EQ(Printed(settings, "relay.body"), "envelope");
  EXPECT_EQ(Printed(settings, "cleaner.retention"), "forever");
  EXPECT_EQ(settings.relay.retention, kDurationMax);
}

TEST(Profile, LeasedLeavesItsLimitsToTheUser) {
  const Settings settings = Of("leased", {{"OUTBOX_RELAY_POLL_INTERVAL", "10s"},
                                          {"OUTBOX_RELAY_BATCH_SIZE", "20"},
                                          {"OUTBOX_RELAY_LOCK_TTL", "30s"},
                                          {"OUTBOX_RELAY_MAX_ATTEMPTS", "3"}});
  EXPECT_EQ(settings.relay.claim_mode, ClaimMode::kLease);
  EXPECT_EQ(settings.relay.poll_max, seconds(10));
  EXPECT_EQ(settings.relay.batch_size, 20u);
  EXPECT_EQ(settings.relay.lease, seconds(30));
  EXPECT_EQ(settings.relay.retry.attempts_max, 3);
  EXPECT_EQ(settings.relay.retry.jitter, Jitter::kEqual);
  EXPECT_EQ(Printed(settings, "cleaner.retention"), "forever");
  EXPECT_EQ(Delay(settings, 3, 0), seconds(2));
  EXPECT_LE(Delay(settings, 3, 0.9999), seconds(4));
  EXPECT_LE(Delay(settings, 30, 0.9999), seconds(300));
}

TEST(Profile, LeasedNamesEveryLimitThatIsMissing) {
  const Status status = Load({.environment = {{"OUTBOX_PROFILE", "leased"},
                                              {"OUTBOX_RELAY_TABLES", "t"},
                                              {"OUTBOX_RELAY_SINK", "null:"}}})
                            .error();
  for (const char* variable : {"OUTBOX_RELAY_POLL_INTERVAL", "OUTBOX_RELAY_BATCH_SIZE",
                               "OUTBOX_RELAY_LOCK_TTL", "OUTBOX_RELAY_MAX_ATTEMPTS"}) {
    EXPECT_THAT(status.message(), HasSubstr(variable));
  }
}

TEST(Profile, LeasedRefusesToPollSlowerThanAThirdOfTheLease) {
  const Status status = Load({.environment = {{"OUTBOX_PROFILE", "leased"},
                                              {"OUTBOX_RELAY_TABLES", "t"},
                                              {"OUTBOX_RELAY_SINK", "null:"},
                                              {"OUTBOX_RELAY_POLL_INTERVAL", "11s"},
                                              {"OUTBOX_RELAY_BATCH_SIZE", "20"},
                                              {"OUTBOX_RELAY_LOCK_TTL", "30s"},
                                              {"OUTBOX_RELAY_MAX_ATTEMPTS", "3"}}})
                            .error();
  EXPECT_THAT(status.message(), HasSubstr("environment OUTBOX_RELAY_POLL_INTERVAL: "
                                          "relay.poll_interval: 11s is more than a third"));
}

TEST(Profile, ToolkitIsAsTabled) {
  const Settings settings = Of("toolkit");
  EXPECT_EQ(settings.relay.claim_mode, ClaimMode::kLease);
  EXPECT_EQ(settings.relay.poll_min, seconds(1));
  EXPECT_EQ(settings.relay.poll_max, seconds(1));
  EXPECT_EQ(settings.relay.batch_size, 100u);
  EXPECT_EQ(settings.relay.lease, seconds(60));
  EXPECT_EQ(settings.relay.retry.attempts_max, 25);
  EXPECT_EQ(Delay(settings, 1, 0), seconds(1));
  EXPECT_EQ(Delay(settings, 6, 0), seconds(32));
  EXPECT_EQ(Delay(settings, 7, 0), seconds(60));
  EXPECT_EQ(Delay(settings, 1, 0.9999), milliseconds(1200));
  EXPECT_EQ(settings.cleaner.retention, hours(24 * 7));
  EXPECT_EQ(settings.cleaner.dead_retention, milliseconds(0));
  EXPECT_TRUE(settings.relay.single_active);
  EXPECT_EQ(settings.relay.dispatch_timeout, seconds(30));
  EXPECT_EQ(settings.relay.last_error_bytes_max, 2048u);
  EXPECT_EQ(settings.cleaner.interval, minutes(1));
  EXPECT_EQ(settings.service.metrics.path, "/debug/prometheus");
}

TEST(Profile, NotificationsIsAsTabled) {
  const Settings settings = Of("notifications");
  EXPECT_EQ(settings.relay.claim_mode, ClaimMode::kLease);
  EXPECT_EQ(settings.relay.poll_min, seconds(5));
  EXPECT_EQ(settings.relay.poll_max, seconds(5));
  EXPECT_EQ(settings.relay.batch_size, 50u);
  EXPECT_EQ(settings.relay.lease, minutes(10));
  EXPECT_EQ(Delay(settings, 1, 0.9), minutes(2));
  EXPECT_EQ(Delay(settings, 2, 0.9), minutes(4));
  EXPECT_EQ(Delay(settings, 3, 0.9), minutes(8));
  EXPECT_FALSE(settings.relay.retry.Exhausted(3)) << "the third retry is still to come";
  EXPECT_TRUE(settings.relay.retry.Exhausted(4));
  EXPECT_EQ(settings.cleaner.retention, hours(24 * 7));
  EXPECT_EQ(settings.cleaner.dead_retention, hours(24 * 30));
}

TEST(Profile, DomainEventsIsAsTabled) {
  const Settings settings = Of("domain-events");
  EXPECT_EQ(settings.relay.claim_mode, ClaimMode::kLease);
  EXPECT_EQ(settings.relay.poll_min, seconds(5));
  EXPECT_EQ(settings.relay.poll_max, seconds(5));
  EXPECT_EQ(settings.relay.batch_size, 100u);
  EXPECT_EQ(settings.relay.lease, seconds(15));
  EXPECT_FALSE(settings.relay.retry.attempts_max);
  const std::vector<int> schedule{1, 2, 5, 15, 60, 300, 900, 900, 900};
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    EXPECT_EQ(Delay(settings, static_cast<int>(i) + 1, 0.9), seconds(schedule[i])) << i;
  }
  EXPECT_EQ(Printed(settings, "relay.mandatory"), "false");
  EXPECT_EQ(Printed(settings, "cleaner.retention"), "forever");
}

TEST(Profile, AnUnknownOneIsRefusedWithTheNearest) {
  EXPECT_THAT(
      Load({.environment = {{"OUTBOX_PROFILE", "toolkti"}}, .complete = false}).error().message(),
      HasSubstr("environment OUTBOX_PROFILE: profile: there is no profile 'toolkti'; did "
                "you mean 'toolkit'?"));
}

TEST(Profile, IsOnlyDefaults) {
  EXPECT_EQ(Of("toolkit", {{"OUTBOX_RELAY_BATCH_SIZE", "7"}}).relay.batch_size, 7u);
  EXPECT_EQ(Of("toolkit", {{"PROMETHEUS_METRICS_PATH", "/m"}}).service.metrics.path, "/m");
  EXPECT_EQ(Of("orders", {{"OUTBOX_CLEANER_RETENTION", "7d"}}).relay.retention, hours(24 * 7));
}

}  // namespace
}  // namespace outbox::config
