// What is refused before the service starts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/api/options.h"

namespace outbox::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ServiceOptions WithMetricsAt(const std::string& path) {
  ServiceOptions options;
  options.listen = {"127.0.0.1:0"};
  options.auth.none = true;
  options.metrics.path = path;
  return options;
}

TEST(ServiceOptions, MetricsHaveAPathOfTheirOwn) {
  EXPECT_THAT(WithMetricsAt("/metrics").Problems(), IsEmpty());
  EXPECT_THAT(WithMetricsAt("/internal/metrics").Problems(), IsEmpty());
  for (const char* const taken : {"/healthz", "/readyz", "/openapi.json", "/docs", "/api",
                                  "/api/v1/tables", "/api/v1/tables/x/stats"}) {
    EXPECT_THAT(WithMetricsAt(taken).Problems(), ElementsAre(HasSubstr("metrics.path"))) << taken;
  }
  for (const char* const odd : {"/a/../b", "/./metrics", "/..", "/metrics/."}) {
    EXPECT_THAT(WithMetricsAt(odd).Problems(), ElementsAre(HasSubstr("metrics path"))) << odd;
  }
  ServiceOptions off = WithMetricsAt("/readyz");
  off.metrics.enabled = false;
  EXPECT_THAT(off.Problems(), IsEmpty());
}

TEST(ServiceOptions, AnAddressIsListenedAtOnce) {
  ServiceOptions options = WithMetricsAt("/metrics");
  options.listen = {"127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:8080", "[::1]:8080"};
  EXPECT_THAT(options.Problems(), IsEmpty());
  options.admin_listen = {"127.0.0.1:8080"};
  EXPECT_THAT(options.Problems(), ElementsAre(HasSubstr("service.admin_listen: 127.0.0.1:8080")));
}

TEST(ServiceOptions, ThereMustBeRoomForAConnection) {
  ServiceOptions options = WithMetricsAt("/metrics");
  options.connections = 0;
  EXPECT_THAT(options.Problems(), ElementsAre(HasSubstr("service.connections")));
}

}  // namespace
}  // namespace outbox::service
