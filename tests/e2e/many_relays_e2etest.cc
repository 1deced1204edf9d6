// Many relays on one table, without faults: every message is delivered, and none twice.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "base/text.h"
#include "tests/e2e/support/dialects.h"
#include "tests/e2e/support/producer.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using base::StrCat;

class ManyRelays : public OnDialect {};
OUTBOX_ON_EVERY_DIALECT(ManyRelays);

TEST_P(ManyRelays, NeverShareAMessage) {
  const std::size_t relays = Pick(8, 4);
  const std::size_t transactions = Pick(100, 20);
  OUTBOX_MAKE_STAGE(stage, GetParam());
  std::vector<std::unique_ptr<Process>> processes;
  for (std::size_t i = 0; i < relays; ++i) {
    processes.push_back(
        stage->StartRelay(StrCat("relay-", i), {"--batch-size", "200", "--window", "400"}));
  }
  for (const auto& process : processes) {
    ASSERT_TRUE(WaitFor([&] {
      return process->Errors().find("relay running") != std::string::npos;
    })) << process->Errors();
  }

  const auto took_part = [&] {
    std::size_t count = 0;
    for (std::size_t i = 0; i < relays; ++i) {
      std::error_code none;
      const auto size = std::filesystem::file_size(stage->SinkFile(StrCat("relay-", i)), none);
      count += !none && size > 0 ? 1 : 0;
    }
    return count;
  };
  // More of them, until enough relays have had a turn.
  std::size_t produced = 0;
  EXPECT_TRUE(WaitFor([&] {
    EXPECT_TRUE(
        Produce(stage->sql(), {.per_transaction = 1000, .rollback_percent = 0}, transactions));
    produced += transactions * 1000;
    return took_part() >= relays / 2;
  })) << "too few to have competed";
  ASSERT_TRUE(WaitFor([&] { return stage->Unfinished() == 0; }, std::chrono::seconds(180)))
      << processes.front()->Errors();
  for (const auto& process : processes) {
    process->Signal(SIGTERM);
    ASSERT_EQ(process->Wait(kPatience), 0) << process->Errors();
  }

  const Verdict verdict = stage->Judge();
  PrintVerdict(Name(), verdict, 0, 0);
  std::printf("%zu of %zu relays took part\n", took_part(), relays);
  EXPECT_EQ(verdict.events, produced);
  EXPECT_EQ(verdict.lost + verdict.phantom + verdict.duplicated, 0u);
}

}  // namespace
}  // namespace outbox::testing
