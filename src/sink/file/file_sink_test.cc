#include "sink/file/file_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/text.h"
#include "sink/file/stalled_pipe.h"
#include "tests/support/matchers.h"
#include "tests/support/wait.h"

namespace outbox::sink {
namespace {

using ::testing::HasSubstr;

class FileSinkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "outbox-file-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = folder_ / "events.jsonl";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::shared_ptr<Sink> Make(const std::string& path) const {
    return MakeFileSink(SinkUri::Parse("file:" + path).value()).value();
  }
  static std::vector<Message> Messages(int count) {
    std::vector<Message> messages(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      messages[static_cast<std::size_t>(i)].seq = i + 1;
      messages[static_cast<std::size_t>(i)].payload = "{}";
    }
    return messages;
  }
  static std::vector<Status> Publish(Sink& sink, const std::vector<Message>& messages) {
    std::vector<Status> results(messages.size(), Status::NotAttempted());
    sink.Publish(messages, results, Soon());
    return results;
  }
  static Deadline Soon() { return Deadline::After(std::chrono::seconds(30)); }

  static std::string Read(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  // The seq of each line that is a JSON object.
  static std::vector<int> Sequences(const std::filesystem::path& path) {
    std::vector<int> sequences;
    for (const std::string& line : base::Split(Read(path), '\n')) {
      const auto json = nlohmann::json::parse(line, nullptr, false);
      if (json.is_object()) sequences.push_back(json.at("seq"));
    }
    return sequences;
  }

  std::filesystem::path folder_;
  std::filesystem::path path_;
};

TEST_F(FileSinkTest, AppendsOneLinePerMessage) {
  std::ofstream(path_) << "{\"seq\":0}\n";
  const auto sink = Make(path_);
  ASSERT_OK(sink->Open(Soon()));
  for (const Status& status : Publish(*sink, Messages(3))) EXPECT_OK(status);
  EXPECT_EQ(Sequences(path_), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_TRUE(Read(path_).ends_with("}\n"));
}

TEST_F(FileSinkTest, StartsANewLineAfterATornOne) {
  std::ofstream(path_) << "{\"seq\":0}\n{\"seq\":9,\"pa";
  const auto sink = Make(path_);
  ASSERT_OK(sink->Open(Soon()));
  Publish(*sink, Messages(1));
  EXPECT_EQ(Sequences(path_), (std::vector<int>{0, 1}));
}

TEST_F(FileSinkTest, FollowsAFileThatWasRotatedAway) {
  const auto sink = Make(path_);
  ASSERT_OK(sink->Open(Soon()));
  Publish(*sink, Messages(1));
  std::filesystem::rename(path_, folder_ / "events.jsonl.1");
  for (const Status& status : Publish(*sink, Messages(2))) EXPECT_OK(status);
  EXPECT_EQ(Sequences(folder_ / "events.jsonl.1"), (std::vector<int>{1}));
  EXPECT_EQ(Sequences(path_), (std::vector<int>{1, 2}));
}

TEST_F(FileSinkTest, AFullDiskIsASinkThatIsDown) {
  const auto sink = Make("/dev/full");
  ASSERT_OK(sink->Open(Soon()));
  for (const Status& status : Publish(*sink, Messages(2))) {
    EXPECT_EQ(status.disposition(), Disposition::kSinkDown);
    EXPECT_THAT(status.message(), HasSubstr("/dev/full: No space left on device"));
    EXPECT_FALSE(status.hint().empty());
  }
}

TEST_F(FileSinkTest, AMissingFolderIsASinkThatIsDownUntilItExists) {
  const auto sink = Make(folder_ / "later" / "events.jsonl");
  const Status missing = sink->Open(Soon());
  EXPECT_EQ(missing.disposition(), Disposition::kSinkDown);
  EXPECT_EQ(Publish(*sink, Messages(1))[0].disposition(), Disposition::kSinkDown);
  std::filesystem::create_directory(folder_ / "later");
  EXPECT_OK(sink->Open(Soon()));
  EXPECT_OK(Publish(*sink, Messages(1))[0]);
}

TEST_F(FileSinkTest, APipeNobodyReadsDoesNotBlock) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(Make(path_)->Open(Soon()).disposition(), Disposition::kSinkDown);
}

TEST_F(FileSinkTest, APipeGetsWholeLinesAfterAStall) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  PipeReader reader(open(path_.c_str(), O_RDONLY | O_NONBLOCK));
  const auto sink = Make(path_);
  ASSERT_OK(sink->Open(Soon()));
  const std::vector<Message> messages = ManyLines();
  const auto stalled = PublishWithin(*sink, messages, std::chrono::milliseconds(200));
  EXPECT_EQ(stalled.back().disposition(), Disposition::kSinkDown);
  const auto done = static_cast<std::size_t>(std::count_if(
      stalled.begin(), stalled.end(), [](const Status& status) { return status.ok(); }));
  reader.Read();
  ASSERT_OK(sink->Open(Soon()));
  EXPECT_OK(PublishWithin(*sink, {&messages[done], 1}, std::chrono::seconds(30))[0]);
  reader.Read();
  const std::vector<std::int64_t> read = reader.Sequences();
  ASSERT_EQ(read.size(), done + 1);
  EXPECT_EQ(read.back(), messages[done].seq);
}

TEST_F(FileSinkTest, ACallBesideOneThatHangsIsASinkThatIsDown) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  PipeReader reader(open(path_.c_str(), O_RDONLY | O_NONBLOCK));
  const auto sink = Make(path_);
  ASSERT_OK(sink->Open(Soon()));
  const std::vector<Message> messages = ManyLines();
  auto hanging = std::async(
      std::launch::async, [&] { return PublishWithin(*sink, messages, std::chrono::seconds(60)); });
  ASSERT_TRUE(testing::WaitFor([&] { return reader.Reached(); }));
  const std::vector<Message> others = ManyLines(1001);
  const auto soon = std::chrono::milliseconds(200);
  EXPECT_EQ(PublishWithin(*sink, others, soon)[0].disposition(), Disposition::kSinkDown);
  EXPECT_EQ(sink->Open(Deadline::After(soon)).disposition(), Disposition::kSinkDown);
  sink->Close(Deadline::After(soon));
  for (const Status& status : reader.ReadUntilReady(hanging)) EXPECT_OK(status);
  const std::vector<std::int64_t> read = reader.Sequences();
  ASSERT_EQ(read.size(), messages.size());
  for (std::size_t i = 0; i < read.size(); ++i) EXPECT_EQ(read[i], messages[i].seq);
}

TEST_F(FileSinkTest, IsNotReadableByOthers) {
  const auto sink = Make(path_);
  ASSERT_OK(sink->Open(Soon()));
  EXPECT_EQ(std::filesystem::status(path_).permissions() & std::filesystem::perms::others_all,
            std::filesystem::perms::none);
}

}  // namespace
}  // namespace outbox::sink
