#include <unistd.h>

#include <atomic>

#include "store/postgres/backend.h"
#include "tests/conformance/store_fixture.h"
#include "tests/support/postgres.h"

namespace outbox::conformance {
namespace {

// Tables of one database, told apart by process and number: tests run side by side.
std::unique_ptr<StoreFixture> MakePostgresFixture() {
  static std::atomic<int> tables = 0;
  auto backend = store::postgres::OpenPostgres(testing::SharedPostgresUrl());
  EXPECT_OK(backend);
  const std::string table =
      "conformance_" + std::to_string(getpid()) + "_" + std::to_string(++tables);
  return std::make_unique<BackendFixture>(std::move(backend).value(), table);
}

std::string WhyUnavailable() {
  return testing::SharedPostgresUrl().empty()
             ? "no PostgreSQL server: run through ctest, or set OUTBOX_TEST_POSTGRES"
             : "";
}

}  // namespace

StoreParam StoreUnderTest() {
  return {.name = "postgres", .make = MakePostgresFixture, .unavailable = WhyUnavailable};
}

}  // namespace outbox::conformance
