// The oracle itself: hand-made histories, good and bad. What it can not see, no fault test can
// prove.
#include "tests/e2e/support/ledger.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace outbox::testing {
namespace {

Verdict JudgeHistory(std::initializer_list<const char*> committed,
                     std::initializer_list<const char*> delivered) {
  Ledger ledger;
  for (const char* id : committed) ledger.Expect(id);
  for (const char* id : delivered) ledger.See(id);
  return ledger.Judge();
}

TEST(Ledger, FindsNothingWrongWithExactlyOnce) {
  const Verdict verdict = JudgeHistory({"a", "b", "c"}, {"c", "a", "b"});
  EXPECT_EQ(verdict.events, 3u);
  EXPECT_EQ(verdict.lost + verdict.phantom + verdict.duplicated, 0u);
}

TEST(Ledger, CountsACommittedEventNobodySawAsLost) {
  EXPECT_EQ(JudgeHistory({"a", "b", "c"}, {"a"}).lost, 2u);
}

TEST(Ledger, CountsARolledBackEventSomebodySawAsPhantom) {
  EXPECT_EQ(JudgeHistory({"a"}, {"a", "rolled-back"}).phantom, 1u);
}

TEST(Ledger, CountsEveryDeliveryBeyondTheFirst) {
  const Verdict verdict = JudgeHistory({"a", "b"}, {"a", "b", "b", "b", "a"});
  EXPECT_EQ(verdict.duplicated, 3u);
  EXPECT_EQ(verdict.lost, 0u);
}

TEST(Ledger, ADuplicateDoesNotMakeUpForALoss) {
  const Verdict verdict = JudgeHistory({"a", "b"}, {"a", "a"});
  EXPECT_EQ(verdict.lost, 1u);
  EXPECT_EQ(verdict.duplicated, 1u);
}

TEST(Ledger, DoesNotCountALineThatACrashTore) {
  std::string path = "/tmp/outbox-ledger.XXXXXX";
  const int file = mkstemp(path.data());
  ASSERT_GE(file, 0);
  std::ofstream(path) << "{\"id\":\"a\",\"seq\":1}\n{\"id\":\"b\",\"se\n{\"id\":\"c\"}\n";
  Ledger ledger;
  for (const char* id : {"a", "b", "c"}) ledger.Expect(id);
  ledger.SeeFile(path);
  std::filesystem::remove(path);
  EXPECT_EQ(ledger.Judge().seen, 2u);
  EXPECT_EQ(ledger.Judge().lost, 1u);
}

}  // namespace
}  // namespace outbox::testing
