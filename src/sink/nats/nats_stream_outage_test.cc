#include <gtest/gtest.h>

#include "sink/nats/stream_outage.h"

namespace outbox::sink {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class StreamOutageTest : public ::testing::Test {
 protected:
  std::optional<milliseconds> Note(std::uint64_t call, std::optional<std::size_t> first_away,
                                   std::optional<std::size_t> last_stored) {
    return outage_.Note({.call = call, .first_away = first_away, .last_stored = last_stored}, now_);
  }

  StreamOutage outage_;
  StreamOutage::TimePoint now_{seconds(1000)};
};

TEST_F(StreamOutageTest, WhatIsStoredAfterwardsShowsThatOthersGetThrough) {
  EXPECT_EQ(Note(1, 0, std::nullopt), std::nullopt);
  EXPECT_EQ(Note(2, std::nullopt, 0), std::nullopt) << "nothing has to wait";
  EXPECT_EQ(Note(3, 0, std::nullopt), milliseconds(1000));
}

TEST_F(StreamOutageTest, WhatWasStoredBeforeShowsNothing) {
  EXPECT_EQ(Note(1, std::nullopt, 9), std::nullopt);
  EXPECT_EQ(Note(3, 5, 4), std::nullopt) << "the leader was lost in the middle of a call";
  EXPECT_EQ(Note(2, std::nullopt, 9), std::nullopt) << "sent before, answered later";
  EXPECT_EQ(Note(4, 0, std::nullopt), std::nullopt);
}

TEST_F(StreamOutageTest, OneCallShowsItToo) { EXPECT_EQ(Note(1, 0, 1), milliseconds(1000)); }

TEST_F(StreamOutageTest, WaitsGrowAsItLastsUpToAMinute) {
  EXPECT_EQ(Note(1, 0, 1), seconds(1));
  now_ += seconds(20);
  EXPECT_EQ(Note(2, 0, 1), seconds(20));
  now_ += minutes(5);
  EXPECT_EQ(Note(3, 0, 1), minutes(1));
  now_ += minutes(11);
  EXPECT_EQ(Note(4, 0, 1), seconds(1)) << "anew";
}

TEST_F(StreamOutageTest, IsTheDestinationsOnceNothingElseHasGotThroughForLong) {
  EXPECT_EQ(Note(1, 0, 1), seconds(1));
  now_ += minutes(6);
  EXPECT_EQ(Note(2, 0, std::nullopt), minutes(1));
  now_ += minutes(6);
  EXPECT_EQ(Note(3, 0, std::nullopt), std::nullopt);
}

}  // namespace
}  // namespace outbox::sink
