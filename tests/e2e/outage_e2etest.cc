// The destination is away: the relay waits, charges no attempt, and goes on by itself.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <set>

#include "base/text.h"
#include "tests/e2e/support/dialects.h"
#include "tests/e2e/support/producer.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using base::StrCat;

// With attempts charged to an outage, a few probes would make every message dead.
const Flags kImpatient{"--max-attempts", "2", "--probe-min", "20ms", "--probe-max", "50ms"};

Flags With(Flags flags, std::initializer_list<std::string> more) {
  flags.insert(flags.end(), more);
  return flags;
}

class Outage : public OnDialect {
 protected:
  static bool Waits(const Process& relay) {
    return relay.Errors().find("relay waiting for sink") != std::string::npos;
  }
};
OUTBOX_ON_EVERY_DIALECT(Outage);

TEST_P(Outage, CostsNoAttemptsAndEndsByItself) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  const std::string folder = stage->folder() + "/mounted";
  std::filesystem::create_directory(folder);
  const auto relay = stage->StartRelay(
      "relay", With(kImpatient, {"--sink", StrCat("file:", folder, "/out.jsonl?fsync=never")}));
  ASSERT_TRUE(Produce(stage->sql(), {}, 10));
  ASSERT_TRUE(WaitFor([&] { return stage->Unfinished() == 0; })) << relay->Errors();

  std::filesystem::rename(folder, folder + ".away");
  ASSERT_TRUE(Produce(stage->sql(), {}, 10));
  ASSERT_TRUE(WaitFor([&] { return Waits(*relay); })) << relay->Errors();
  // Many more probes than a message has attempts. Each takes messages and gives them back.
  std::set<std::string> probes;
  EXPECT_TRUE(WaitFor([&] {
    probes.insert(stage->sql().Column(StrCat("SELECT max(updated_at) FROM ", kTable)).at(0));
    return probes.size() > 20;
  })) << relay->Errors();
  EXPECT_EQ(stage->Count("dead"), 0);
  EXPECT_EQ(stage->Unfinished(), 90);

  std::filesystem::rename(folder + ".away", folder);
  ASSERT_TRUE(WaitFor([&] { return stage->Unfinished() == 0; })) << relay->Errors();
  relay->Kill();
  std::filesystem::rename(folder + "/out.jsonl", stage->SinkFile("relay"));
  const Verdict verdict = stage->Judge();
  PrintVerdict(Name(), verdict, 1, 0);
  EXPECT_EQ(verdict.lost + verdict.phantom + verdict.duplicated, 0u);
  EXPECT_EQ(stage->sql().Number(StrCat("SELECT max(attempts) FROM ", kTable)), 1)
      << "the outage was charged to a message";
}

TEST_P(Outage, OfAFullDiskIsWaitedFor) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  ASSERT_TRUE(Produce(stage->sql(), {}, 10));
  const auto relay = stage->StartRelay("relay", With(kImpatient, {"--sink", "file:/dev/full"}));
  ASSERT_TRUE(WaitFor([&] { return Waits(*relay); })) << relay->Errors();
  EXPECT_NE(relay->Errors().find("No space left on device"), std::string::npos) << relay->Errors();
  relay->Signal(SIGTERM);
  ASSERT_EQ(relay->Wait(kPatience), 0) << relay->Errors();
  EXPECT_EQ(stage->sql().Number(StrCat("SELECT max(attempts) FROM ", kTable)), 0);
  EXPECT_EQ(stage->Count("pending"), 90);
  EXPECT_EQ(stage->Leased(), 0);

  ASSERT_TRUE(stage->Drain("relay", kImpatient));
  const Verdict verdict = stage->Judge();
  PrintVerdict(Name(), verdict, 1, 0);
  EXPECT_EQ(verdict.lost + verdict.phantom + verdict.duplicated, 0u);
}

}  // namespace
}  // namespace outbox::testing
