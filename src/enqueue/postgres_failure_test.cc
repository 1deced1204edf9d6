#include <gtest/gtest.h>

#include "outbox/enqueue.h"

namespace outbox {
namespace {

TEST(PostgresFailure, SaysWhetherToRunTheTransactionAgain) {
  const Status deadlock = PostgresFailure("40P01", "deadlock detected");
  EXPECT_EQ(deadlock.code(), Code::kConflict);
  EXPECT_EQ(deadlock.disposition(), Disposition::kRetry);
  EXPECT_EQ(deadlock.message(), "enqueue: deadlock detected");
  EXPECT_EQ(deadlock.native(), "40P01");
  EXPECT_EQ(PostgresFailure("08006", "gone").disposition(), Disposition::kInDoubt);
  EXPECT_EQ(PostgresFailure("42501", "no").code(), Code::kPermission);
  EXPECT_EQ(PostgresFailure("", "what?").code(), Code::kInternal);
}

TEST(PostgresFailure, TakesTheHintOfARuleAndOfNothingElse) {
  EXPECT_EQ(PostgresFailure("22023", "key: is long", "shorten it").hint(), "shorten it");
  EXPECT_NE(PostgresFailure("22023", "key: is long").hint(), "");
  EXPECT_NE(PostgresFailure("42703", "no such column", "perhaps b").hint(), "perhaps b");
}

}  // namespace
}  // namespace outbox
