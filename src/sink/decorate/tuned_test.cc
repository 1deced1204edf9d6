#include "sink/decorate/tuned.h"

#include <gtest/gtest.h>

#include "sink/decorate/fakes.h"
#include "tests/support/matchers.h"

namespace outbox::sink {
namespace {

SinkTraits TunedTraits(SinkTraits own, SinkTraits wanted) {
  return Tuned(std::make_shared<FakeSink>(own), wanted)->traits();
}

TEST(Tuned, LowersWhatASinkAllows) {
  const SinkTraits traits = TunedTraits({1000, 8}, {50, 2});
  EXPECT_EQ(traits.batch_max, 50u);
  EXPECT_EQ(traits.concurrency, 2u);
}

TEST(Tuned, RaisesNothing) {
  const SinkTraits traits = TunedTraits({100, 2}, {5000, 64});
  EXPECT_EQ(traits.batch_max, 100u);
  EXPECT_EQ(traits.concurrency, 2u);
}

TEST(Tuned, ZeroLeavesTheSinksOwn) {
  const SinkTraits traits = TunedTraits({100, 2}, {0, 0});
  EXPECT_EQ(traits.batch_max, 100u);
  EXPECT_EQ(traits.concurrency, 2u);
}

TEST(Tuned, PassesEverythingOn) {
  const auto inner = std::make_shared<FakeSink>();
  const auto sink = Tuned(inner, {10, 1});
  EXPECT_EQ(sink->name(), "fake");
  EXPECT_OK(sink->Open(Deadline::After(std::chrono::seconds(30))));
  EXPECT_OK(PublishTo(*sink, 3, Deadline::After(std::chrono::seconds(30)))[2]);
  EXPECT_EQ(inner->opened, 1);
  EXPECT_EQ(inner->calls, std::vector<std::size_t>{3});
}

}  // namespace
}  // namespace outbox::sink
