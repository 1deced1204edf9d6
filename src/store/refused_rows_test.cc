#include "store/refused_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace outbox::store {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Next = RefusedRows::Next;

class RefusedRowsTest : public ::testing::Test {
 protected:
  void SetAside(std::int64_t seq) {
    rows_.SetAside(seq, "message m", Status::Permanent(Code::kInvalidArgument, "not 4111"), now_);
  }

  RefusedRows rows_;
  RefusedRows::Clock::time_point now_{};
};

TEST_F(RefusedRowsTest, AClaimThatIsRefusedIsHalvedDownToOneAndGrowsAgain) {
  EXPECT_EQ(rows_.Begin(100), 100u);
  for (const std::size_t limit : {50u, 25u, 12u, 6u, 3u, 1u}) {
    EXPECT_EQ(rows_.OnRefused(), Next::kSmaller);
    EXPECT_EQ(rows_.limit(), limit);
  }
  EXPECT_EQ(rows_.OnRefused(), Next::kFindFirst);
  SetAside(7);
  for (const std::size_t limit : {2u, 4u, 8u, 16u, 32u, 64u, 100u}) {
    rows_.OnClaimed();
    EXPECT_EQ(rows_.Begin(100), limit);
  }
}

TEST_F(RefusedRowsTest, ARowIsSetAsideForLongerAndLonger) {
  milliseconds wait = RefusedRows::kWaitMin;
  for (int i = 0; i < 12; ++i) {
    SetAside(7);
    EXPECT_THAT(rows_.Aside(now_ + wait - milliseconds(1)), ElementsAre(7));
    now_ += wait;
    EXPECT_THAT(rows_.Aside(now_), IsEmpty()) << "it is tried again";
    wait = std::min(2 * wait, RefusedRows::kWaitMax);
  }
  EXPECT_THAT(rows_.Take(), SizeIs(12));
  EXPECT_THAT(rows_.Take(), IsEmpty());
}

TEST_F(RefusedRowsTest, SaysWhichRowAndNothingThatTheDatabaseSaid) {
  SetAside(7);
  const auto told = rows_.Take();
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_THAT(told[0].error.message(), HasSubstr("message m can not be claimed"));
  EXPECT_THAT(told[0].error.message(), Not(HasSubstr("4111")));
  EXPECT_EQ(told[0].retry_in, RefusedRows::kWaitMin);
}

TEST_F(RefusedRowsTest, IsBounded) {
  for (std::size_t seq = 0; seq < RefusedRows::kRowsMax; ++seq) {
    if (seq % RefusedRows::kRowsPerClaim == 0) rows_.Begin(1);
    EXPECT_EQ(rows_.OnRefused(), Next::kFindFirst);
    SetAside(static_cast<std::int64_t>(seq));
    if (seq % RefusedRows::kRowsPerClaim == RefusedRows::kRowsPerClaim - 1) {
      EXPECT_EQ(rows_.OnRefused(), seq + 1 < RefusedRows::kRowsMax ? Next::kStop : Next::kFail);
    }
  }
  rows_.Begin(1);
  EXPECT_EQ(rows_.OnRefused(), Next::kFail);
  now_ += 4 * RefusedRows::kWaitMax;
  SetAside(5);
  rows_.Begin(1);
  EXPECT_EQ(rows_.OnRefused(), Next::kFindFirst) << "the others are forgotten";
}

}  // namespace
}  // namespace outbox::store
