#include "sink/file/stdout_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "sink/file/stalled_pipe.h"
#include "tests/support/matchers.h"
#include "tests/support/wait.h"

namespace outbox::sink {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Standard output is a pipe while the test runs.
class StdoutSinkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    std::fflush(stdout);
    saved_ = dup(STDOUT_FILENO);
    ASSERT_EQ(dup2(ends[1], STDOUT_FILENO), STDOUT_FILENO);
    close(ends[1]);
    reader_ = std::make_unique<PipeReader>(ends[0]);
    sink_ = MakeStdoutSink(SinkUri::Parse("stdout:").value()).value();
  }
  void TearDown() override { PutBack(); }

  // Before anything is expected: a failure is written to standard output.
  void PutBack() {
    if (saved_ < 0) return;
    dup2(saved_, STDOUT_FILENO);
    close(std::exchange(saved_, -1));
  }
  static std::size_t CountOk(const std::vector<Status>& results) {
    return static_cast<std::size_t>(std::count_if(
        results.begin(), results.end(), [](const Status& status) { return status.ok(); }));
  }

  int saved_ = -1;
  std::unique_ptr<PipeReader> reader_;
  std::shared_ptr<Sink> sink_;
};

TEST_F(StdoutSinkTest, ACallEndsAtItsDeadlineWhenTheReaderStalls) {
  const std::vector<Message> messages = ManyLines();
  auto call = std::async(std::launch::async,
                         [&] { return PublishWithin(*sink_, messages, milliseconds(300)); });
  const bool ended = call.wait_for(testing::kPatience) == std::future_status::ready;
  reader_->Read();
  const std::vector<Status> results = call.get();
  PutBack();
  EXPECT_TRUE(ended);
  EXPECT_LT(CountOk(results), messages.size());
  EXPECT_EQ(results.back().disposition(), Disposition::kSinkDown) << results.back().ToString();
  EXPECT_EQ(reader_->Sequences().size(), CountOk(results));
}

TEST_F(StdoutSinkTest, WhatIsConfirmedAfterAStallIsRead) {
  const std::vector<Message> messages = ManyLines();
  const std::vector<Status> results = PublishWithin(*sink_, messages, milliseconds(200));
  reader_->Read();
  const std::size_t done = CountOk(results);
  const std::vector<Message> rest{messages[done], messages[done + 1]};
  const std::vector<Status> again = PublishWithin(*sink_, rest, seconds(30));
  reader_->Read();
  PutBack();
  EXPECT_EQ(CountOk(again), 2U);
  const std::vector<std::int64_t> read = reader_->Sequences();
  ASSERT_EQ(read.size(), done + 2);
  for (std::size_t i = 0; i < read.size(); ++i) EXPECT_EQ(read[i], messages[i].seq);
}

// The relay leaves a thread that hangs behind and starts another.
TEST_F(StdoutSinkTest, ACallBesideOneThatHangsLeavesItsLinesAlone) {
  const std::vector<Message> messages = ManyLines();
  const std::vector<Message> others = ManyLines(1001);
  auto hanging =
      std::async(std::launch::async, [&] { return PublishWithin(*sink_, messages, seconds(60)); });
  const bool hangs = testing::WaitFor([&] { return reader_->Reached(); });
  const std::vector<Status> beside = PublishWithin(*sink_, others, milliseconds(300));
  const std::vector<Status> results = reader_->ReadUntilReady(hanging);
  PutBack();
  EXPECT_TRUE(hangs);
  EXPECT_EQ(CountOk(beside), 0U);
  EXPECT_EQ(beside[0].disposition(), Disposition::kSinkDown) << beside[0].ToString();
  EXPECT_EQ(CountOk(results), messages.size());
  const std::vector<std::int64_t> read = reader_->Sequences();
  ASSERT_EQ(read.size(), messages.size());
  for (std::size_t i = 0; i < read.size(); ++i) EXPECT_EQ(read[i], messages[i].seq);
}

}  // namespace
}  // namespace outbox::sink
