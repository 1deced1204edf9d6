// Fault tests run on PostgreSQL and on SQLite: OUTBOX_ON_EVERY_DIALECT(Suite) instantiates a suite
// that derives from OnDialect for both.
#pragma once

#include <gtest/gtest.h>

#include "tests/e2e/support/stage.h"
#include "tests/support/postgres.h"

namespace outbox::testing {

class OnDialect : public ::testing::TestWithParam<Dialect> {
 protected:
  // A value for each dialect: SQLite has one writer at a time and gets smaller numbers.
  template <typename T>
  static T Pick(T postgres, T sqlite) {
    return GetParam() == Dialect::kPostgres ? postgres : sqlite;
  }
  // "KillTest.LosesNothing/SQLite", for the line each fault test prints.
  static std::string Name() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    return std::string(info->name());
  }
};

}  // namespace outbox::testing

#define OUTBOX_ON_EVERY_DIALECT(suite)                                                        \
  INSTANTIATE_TEST_SUITE_P(                                                                   \
      On, suite, ::testing::Values(::outbox::Dialect::kPostgres, ::outbox::Dialect::kSqlite), \
      [](const auto& one) { return ::outbox::testing::DialectName(one.param); })
