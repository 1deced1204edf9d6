#include "outbox/uuid.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

#include "base/random.h"

namespace outbox {
namespace {

TEST(Uuid, NewV7HasVersionSevenAndTheRfcVariant) {
  const Uuid id = Uuid::NewV7();
  EXPECT_EQ(id.bytes()[6] >> 4, 7);
  EXPECT_EQ(id.bytes()[8] >> 6, 2);
}

TEST(Uuid, NewV7GrowsStrictlyWithinAThread) {
  Uuid last = Uuid::NewV7();
  for (int i = 0; i < 200'000; ++i) {
    const Uuid next = Uuid::NewV7();
    ASSERT_LT(last, next);
    last = next;
  }
}

TEST(Uuid, NewV7NeverRepeatsAcrossThreads) {
  std::vector<std::vector<Uuid>> made(4);
  std::vector<std::thread> threads;
  for (auto& ids : made) {
    threads.emplace_back([&ids] {
      for (int i = 0; i < 20'000; ++i) ids.push_back(Uuid::NewV7());
    });
  }
  for (auto& thread : threads) thread.join();
  std::set<Uuid> all;
  for (const auto& ids : made) {
    EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
    all.insert(ids.begin(), ids.end());
  }
  EXPECT_EQ(all.size(), 80'000U);
}

TEST(Uuid, AForkedProcessDoesNotRepeatItsParentsRandomBits) {
  Uuid::NewV7();  // random bits are kept ready now
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  const std::uint64_t bits = base::RandomBits();
  if (child == 0) _exit(write(ends[1], &bits, sizeof bits) == sizeof bits ? 0 : 1);
  ASSERT_GT(child, 0);
  std::uint64_t of_child = bits;
  ASSERT_EQ(read(ends[0], &of_child, sizeof of_child), static_cast<ssize_t>(sizeof of_child));
  EXPECT_NE(of_child, bits);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  close(ends[0]);
  close(ends[1]);
}

TEST(Uuid, TextFormIsReadBackInEitherCase) {
  const std::string text = "01890a5d-ac96-774b-bcce-b302099a8057";
  ASSERT_TRUE(Uuid::Parse(text));
  EXPECT_EQ(Uuid::Parse(text)->ToString(), text);
  EXPECT_EQ(Uuid::Parse("01890A5D-AC96-774B-BCCE-B302099A8057"), Uuid::Parse(text));
}

TEST(Uuid, ParseRefusesAnythingElse) {
  for (const char* text :
       {"", "01890a5d", "{01890a5d-ac96-774b-bcce-b302099a8057}",
        "01890a5dac96774bbcceb302099a8057", "01890a5d-ac96-774b-bcce-b302099a805g",
        "01890a5d-ac96-774b-bcce-b302099a80577", "01890a5d_ac96-774b-bcce-b302099a8057"}) {
    EXPECT_FALSE(Uuid::Parse(text)) << text;
  }
}

}  // namespace
}  // namespace outbox
