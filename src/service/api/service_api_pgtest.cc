// All suites of the API, on both databases.
#include "service/api/message_suite.h"
#include "service/api/openapi_suite.h"
#include "service/api/operator_suite.h"
#include "service/api/tenant_suite.h"
#include "tests/support/postgres.h"

namespace outbox::service {
namespace {

const ApiParam kSqlite{"sqlite", [] { return std::string(); }};
const ApiParam kPostgres{"postgres", [] { return outbox::testing::SharedPostgresUrl(); },
                         [] {
                           return outbox::testing::SharedPostgresUrl().empty()
                                      ? std::string(
                                            "no PostgreSQL server: run through ctest, or set "
                                            "OUTBOX_TEST_POSTGRES")
                                      : std::string();
                         }};

const auto kDatabases = ::testing::Values(kSqlite, kPostgres);
INSTANTIATE_TEST_SUITE_P(On, TenantApiSuite, kDatabases, ApiParamName);
INSTANTIATE_TEST_SUITE_P(On, MessageApiSuite, kDatabases, ApiParamName);
INSTANTIATE_TEST_SUITE_P(On, OperatorApiSuite, kDatabases, ApiParamName);
INSTANTIATE_TEST_SUITE_P(On, OpenApiSuite, kDatabases, ApiParamName);

}  // namespace
}  // namespace outbox::service
