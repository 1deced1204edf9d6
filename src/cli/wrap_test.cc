#include "cli/wrap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace outbox::cli {
namespace {

using ::testing::ElementsAre;

TEST(Wrap, BreaksBetweenWords) {
  EXPECT_THAT(WrapLines("one two three", 8), ElementsAre("one two", "three"));
  EXPECT_THAT(WrapLines("größe größe", 11), ElementsAre("größe größe"));
  EXPECT_THAT(WrapLines("", 8), ElementsAre(""));
}

TEST(Wrap, BreaksLongWordsAtPunctuationOnly) {
  EXPECT_THAT(WrapLines("of {alpha,beta,gamma}", 10), ElementsAre("of {alpha,", "beta,", "gamma}"));
  EXPECT_THAT(WrapLines("http://HOST[:PORT]/PATH", 12), ElementsAre("http://HOST", "[:PORT]/PATH"));
  EXPECT_THAT(WrapLines("<module>.<event>", 9), ElementsAre("<module>.", "<event>"));
  EXPECT_THAT(WrapLines("a-very-long-word x", 8), ElementsAre("a-very-long-word", "x"));
}

TEST(Wrap, BreaksAnythingWhereAskedTo) {
  EXPECT_THAT(BreakLines("one 0123456789abcdef two", 8),
              ElementsAre("one", "01234567", "89abcdef", "two"));
  EXPECT_THAT(BreakLines("größegröße", 4), ElementsAre("größ", "egrö", "ße"));
  EXPECT_THAT(BreakLines("世界世", 5), ElementsAre("世界", "世"));
  EXPECT_THAT(BreakLines("", 8), ElementsAre(""));
}

TEST(Wrap, SetsExplanationsBesideNames) {
  EXPECT_EQ(WrapEntry("--db TEXT", "The database, as an address of it", 14, 35),
            "  --db TEXT   The database, as an\n"
            "              address of it\n");
}

TEST(Wrap, SetsExplanationsBelowLongNames) {
  EXPECT_EQ(WrapEntry("--max-attempts number", "Deliveries tried", 14, 40),
            "  --max-attempts number\n"
            "              Deliveries tried\n");
  EXPECT_EQ(WrapEntry("--json", "", 14, 40), "  --json\n");
}

}  // namespace
}  // namespace outbox::cli
