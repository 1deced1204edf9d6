// A message that kills the process it is delivered to: dead after its attempts, and nobody else is.
#include <gtest/gtest.h>

#include <csignal>

#include "base/text.h"
#include "tests/e2e/support/dialects.h"
#include "tests/e2e/support/producer.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using base::StrCat;

class Poison : public OnDialect {};
OUTBOX_ON_EVERY_DIALECT(Poison);

TEST_P(Poison, IsDeadAfterItsCrashesWhileTheOthersAreDelivered) {
  constexpr int kAttemptsMax = 4;
  OUTBOX_MAKE_STAGE(stage, GetParam());
  const Load load{.per_transaction = 30, .rollback_percent = 0};
  ASSERT_TRUE(Produce(stage->sql(), load, 1));
  const NewMessage poison{.topic = "orders.order.created.v1", .payload = R"({"is":"poison"})"};
  ASSERT_TRUE(stage->sql().Execute("BEGIN"));
  ASSERT_TRUE(stage->sql().EnqueueMany(kTable, std::span(&poison, 1)).ok());
  ASSERT_TRUE(stage->sql().Execute("COMMIT"));
  ASSERT_TRUE(Produce(stage->sql(), load, 2));

  int crashes = 0;
  int exit_code = -1;
  do {
    const Finished run = Process::Run({CRASHING_CONSUMER_PATH, stage->url(), std::string(kTable),
                                       stage->SinkFile("consumer"), std::to_string(kAttemptsMax)});
    exit_code = run.exit_code;
    if (exit_code != 128 + SIGABRT) break;
    ++crashes;
    ASSERT_TRUE(stage->EndLeases());
  } while (crashes < 10 * kAttemptsMax);
  ASSERT_EQ(exit_code, 0);

  const Verdict verdict = stage->Judge();
  PrintVerdict(Name(), verdict, static_cast<std::size_t>(crashes), 40u * kAttemptsMax);
  EXPECT_EQ(crashes, kAttemptsMax);
  EXPECT_EQ(verdict.lost, 0u) << "messages beside the poison were given up";
  EXPECT_EQ(verdict.phantom, 0u);
  EXPECT_EQ(stage->Count("dead"), 1);
  const auto row = stage->sql().Query(
      StrCat("SELECT attempts, last_error FROM ", kTable, " WHERE status = 'dead'"));
  ASSERT_EQ(row.size(), 1u);
  EXPECT_EQ(row[0][0], std::to_string(kAttemptsMax));
  EXPECT_NE(row[0][1].find(StrCat("gave up after ", kAttemptsMax, " attempts")), std::string::npos)
      << row[0][1];
}

}  // namespace
}  // namespace outbox::testing
