#include <map>

#include "sink/amqp/confirm_window.h"
#include "tests/support/matchers.h"

namespace outbox::sink {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

using Answers = std::map<std::size_t, Answer>;

ConfirmWindow Window(std::uint64_t first_tag, std::size_t count) {
  ConfirmWindow window(first_tag);
  for (std::size_t i = 0; i < count; ++i) window.Sent(i, "id-" + std::to_string(i));
  return window;
}

Answers Take(ConfirmWindow& window, std::uint64_t tag, bool multiple, bool confirmed) {
  Answers answers;
  window.Answered(tag, multiple, confirmed,
                  [&](std::size_t index, Answer answer) { answers[index] = answer; });
  return answers;
}

TEST(ConfirmWindow, TakesConfirmsOutOfOrder) {
  ConfirmWindow window = Window(1, 3);
  EXPECT_THAT(Take(window, 3, false, true), ElementsAre(Pair(2, Answer::kConfirmed)));
  EXPECT_THAT(Take(window, 1, false, true), ElementsAre(Pair(0, Answer::kConfirmed)));
  EXPECT_EQ(window.open(), 1u);
  EXPECT_THAT(Take(window, 2, false, true), ElementsAre(Pair(1, Answer::kConfirmed)));
  EXPECT_EQ(window.open(), 0u);
}

TEST(ConfirmWindow, MultipleMeansAllUpToTheTagThatAreStillOpen) {
  ConfirmWindow window = Window(11, 5);
  EXPECT_THAT(Take(window, 12, false, false), ElementsAre(Pair(1, Answer::kRefused)));
  EXPECT_THAT(Take(window, 14, true, true),
              ElementsAre(Pair(0, Answer::kConfirmed), Pair(2, Answer::kConfirmed),
                          Pair(3, Answer::kConfirmed)));
  EXPECT_EQ(window.open(), 1u);
}

TEST(ConfirmWindow, AReturnedMessageIsNotConfirmedByItsAck) {
  ConfirmWindow window = Window(1, 3);
  window.Returned("id-1");
  window.Returned("never sent");
  window.Sent(3, "id-3");
  window.Returned("id-3");
  EXPECT_THAT(Take(window, 4, true, true),
              ElementsAre(Pair(0, Answer::kConfirmed), Pair(1, Answer::kUnroutable),
                          Pair(2, Answer::kConfirmed), Pair(3, Answer::kUnroutable)));
}

TEST(ConfirmWindow, IgnoresTagsOfEarlierBatchesAndOnesNeverSent) {
  ConfirmWindow window = Window(100, 2);
  EXPECT_THAT(Take(window, 99, true, true), IsEmpty());
  EXPECT_THAT(Take(window, 500, false, true), IsEmpty());
  EXPECT_THAT(Take(window, 100, false, true), ElementsAre(Pair(0, Answer::kConfirmed)));
  EXPECT_THAT(Take(window, 100, false, false), IsEmpty()) << "a second answer changes nothing";
  EXPECT_EQ(window.open(), 1u);
}

TEST(ConfirmWindow, LeavesBehindWhatHasNoAnswer) {
  ConfirmWindow window = Window(1, 4);
  Take(window, 2, false, true);
  window.Returned("id-3");
  Answers left;
  window.Abandon([&](std::size_t index, Answer answer) { left[index] = answer; });
  EXPECT_THAT(left, ElementsAre(Pair(0, Answer::kNone), Pair(2, Answer::kNone),
                                Pair(3, Answer::kUnroutable)));
  EXPECT_EQ(window.open(), 0u);
}

}  // namespace
}  // namespace outbox::sink
