#include <atomic>

#include "sink/amqp/alarm.h"
#include "tests/support/matchers.h"
#include "tests/support/wait.h"

namespace outbox::sink {
namespace {

using outbox::testing::WaitFor;
using std::chrono::hours;
using std::chrono::milliseconds;

TEST(Alarm, RingsOnceWhenItsMomentComes) {
  std::atomic<int> rings{0};
  Alarm alarm([&]() -> std::optional<Deadline> {
    ++rings;
    return std::nullopt;
  });
  alarm.Set(Deadline::After(hours(1)));
  alarm.Set(Deadline::After(milliseconds(1)));
  EXPECT_TRUE(WaitFor([&] { return rings == 1; }));
  alarm.Set(Deadline::After(milliseconds(1)));
  EXPECT_TRUE(WaitFor([&] { return rings == 2; }));
}

TEST(Alarm, RingsAgainWhenTheFunctionSaysSo) {
  std::atomic<int> rings{0};
  Alarm alarm([&]() -> std::optional<Deadline> {
    ++rings;
    return Deadline::After(milliseconds(1));
  });
  alarm.Set(Deadline::After(milliseconds(0)));
  EXPECT_TRUE(WaitFor([&] { return rings >= 5; }));
}

TEST(Alarm, IsSilentOnceCleared) {
  int rings = 0;  // not atomic: what runs after Clear would be a race
  Alarm alarm([&]() -> std::optional<Deadline> {
    ++rings;
    return Deadline::After(milliseconds(1));
  });
  for (int round = 0; round < 200; ++round) {
    alarm.Set(Deadline::After(std::chrono::microseconds(10 * (round % 20))));
    alarm.Clear();
    ++rings;
  }
  EXPECT_GE(rings, 200);
}

TEST(Alarm, EndsWithAMomentStillAhead) {
  Alarm alarm([]() -> std::optional<Deadline> { return std::nullopt; });
  alarm.Set(Deadline::After(hours(1)));
}

}  // namespace
}  // namespace outbox::sink
