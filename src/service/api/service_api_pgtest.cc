#include "service/api/api_suites.h"
#include "tests/support/postgres.h"

namespace outbox::service {
namespace {

OUTBOX_INSTANTIATE_API_SUITES((ApiParam{
    "postgres", [] { return outbox::testing::SharedPostgresUrl(); },
    [] {
      return outbox::testing::SharedPostgresUrl().empty()
                 ? std::string(
                       "no PostgreSQL server: run through ctest, or set "
                       "OUTBOX_TEST_POSTGRES")
                 : std::string();
    }}));

}  // namespace
}  // namespace outbox::service
