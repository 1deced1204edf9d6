#include "config/profile.h"

#include <algorithm>
#include <array>

namespace outbox::config {
namespace {

// Where a policy doubles without bound, the number of attempts is what ends it.
constexpr std::string_view kUncapped = "365d";

using AllProfiles = std::array<Profile, 6>;

const AllProfiles& All() {
  static const AllProfiles& kProfiles = *new AllProfiles{{
      {.name = "default", .summary = "fast and safe: lease claims, adaptive polling, 20 attempts"},

      {.name = "orders",
       .summary = "order outbox: rows stay locked while they are published",
       .settings = {{"relay.claim", "transaction"},
                    {"relay.poll_interval", "200ms"},
                    {"relay.batch_size", "50"},
                    {"relay.body", "envelope"},
                    // The first delivery and five retries, 1, 2, 4, 8 and 16 seconds after the
                    // failure before.
                    {"relay.max_attempts", "6"},
                    {"relay.retry_base", "1s"},
                    {"relay.retry_cap", kUncapped},
                    {"relay.retry_jitter", "none"},
                    {"cleaner.retention", "forever"}}},

      {.name = "leased",
       .summary = "leased outbox with dedupe: the deployment chooses every limit",
       .settings = {{"relay.claim", "lease"},
                    {"relay.retry_base", "1s"},
                    {"relay.retry_cap", "300s"},
                    {"relay.retry_jitter", "equal"},
                    // As long as the row is there, its dedupe key is taken.
                    {"cleaner.retention", "forever"}},
       .required = {"relay.poll_interval", "relay.batch_size", "relay.lease",
                    "relay.max_attempts"}},

      {.name = "toolkit",
       .summary = "outbox toolkit: one active relay per table, 25 attempts",
       .settings = {{"relay.claim", "lease"},
                    {"relay.poll_interval", "1s"},
                    {"relay.batch_size", "100"},
                    {"relay.lease", "60s"},
                    {"relay.max_attempts", "25"},
                    {"relay.retry_base", "1s"},
                    {"relay.retry_cap", "60s"},
                    {"relay.retry_jitter", "additive"},
                    {"relay.retry_jitter_max", "200ms"},
                    {"relay.single_active", "true"},
                    {"relay.dispatch_timeout", "30s"},
                    {"relay.last_error_max_bytes", "2048"},
                    {"cleaner.interval", "1m"},
                    {"cleaner.retention", "7d"},
                    {"cleaner.dead_retention", "0"},
                    {"metrics.path", "/debug/prometheus"}},
       .variables = {"OUTBOX_RELAY_ENABLED", "OUTBOX_RELAY_TABLES", "OUTBOX_RELAY_SINGLE_ACTIVE",
                     "OUTBOX_RELAY_POLL_INTERVAL", "OUTBOX_RELAY_BATCH_SIZE",
                     "OUTBOX_RELAY_LOCK_TTL", "OUTBOX_RELAY_MAX_ATTEMPTS",
                     "OUTBOX_RELAY_DISPATCH_TIMEOUT", "OUTBOX_LAST_ERROR_MAX_BYTES",
                     "OUTBOX_CLEANER_ENABLED", "OUTBOX_CLEANER_TABLES", "OUTBOX_CLEANER_INTERVAL",
                     "OUTBOX_CLEANER_RETENTION", "OUTBOX_CLEANER_DEAD_RETENTION",
                     "PROMETHEUS_METRICS_ENABLED", "PROMETHEUS_METRICS_PATH"},
       .may_be_idle = true},

      {.name = "notifications",
       .summary = "notification outbox: three retries, minutes apart",
       .settings =
           {{"relay.claim", "lease"},
            {"relay.poll_interval", "5s"},
            {"relay.batch_size", "50"},
            {"relay.lease", "10m"},
            // The first delivery and three retries, 2, 4 and 8 minutes after the failure before.
            {"relay.max_attempts", "4"},
            {"relay.retry_base", "2m"},
            {"relay.retry_cap", kUncapped},
            {"relay.retry_jitter", "none"},
            {"cleaner.interval", "24h"},
            {"cleaner.retention", "7d"},
            {"cleaner.dead_retention", "30d"}}},

      {.name = "domain-events",
       .summary = "domain events: tried for ever on a fixed schedule",
       .settings = {{"relay.claim", "lease"},
                    {"relay.poll_interval", "5s"},
                    {"relay.batch_size", "100"},
                    // Three times the poll interval at least.
                    {"relay.lease", "15s"},
                    {"relay.max_attempts", "unlimited"},
                    {"relay.retry_schedule", "1s,2s,5s,15s,60s,300s,900s"},
                    {"relay.retry_jitter", "none"},
                    {"relay.mandatory", "false"},
                    {"cleaner.retention", "forever"}}},
  }};
  return kProfiles;
}

}  // namespace

std::span<const Profile> Profiles() { return All(); }

const Profile* FindProfile(std::string_view name) {
  const auto* found = std::find_if(All().begin(), All().end(),
                                   [&](const Profile& profile) { return profile.name == name; });
  return found == All().end() ? nullptr : found;
}

const Profile* FindProfileByVariable(std::string_view variable) {
  const auto* found = std::find_if(All().begin(), All().end(), [&](const Profile& profile) {
    return std::find(profile.variables.begin(), profile.variables.end(), variable) !=
           profile.variables.end();
  });
  return found == All().end() ? nullptr : found;
}

}  // namespace outbox::config
